/** The daemon types whose work the room `cluster` does. */
import type { ClusterServices } from "../../../src/cluster/index.ts";
import { healthLimits } from "../../../src/cluster/limits.ts";
import type { NodePower } from "../../../src/cluster/recovery/node-power.port.ts";
import { listActs } from "../../../src/cluster/recovery/recovery-rows.ts";
import { createDiskGauge } from "../../../src/cluster/resources/disk-gauge.ts";
import type { ResourceSampler } from "../../../src/cluster/resources/sample.ts";
import { createIdleRequests, createUsageGauge } from "../../../src/cluster/resources/usage-gauge.ts";
import { resourceSettings } from "../../../src/cluster/settings.ts";
import { clusterMonitorDaemon } from "../../../src/cluster/units/cluster-monitor/cluster-monitor.unit.ts";
import { connectivityMonitorDaemon } from "../../../src/cluster/units/connectivity-monitor/connectivity-monitor.unit.ts";
import { healthManagerCoordinator } from "../../../src/cluster/units/health-manager/health-manager.unit.ts";
import { idleResourceDaemon } from "../../../src/cluster/units/idle-resource/idle-resource.unit.ts";
import { membershipDaemon } from "../../../src/cluster/units/membership/membership.unit.ts";
import { nodeHealthDaemon } from "../../../src/cluster/units/node-health/node-health.unit.ts";
import { nodeRecoveryDaemon } from "../../../src/cluster/units/node-recovery/node-recovery.unit.ts";
import { resourceMonitorDaemon } from "../../../src/cluster/units/resource-monitor/resource-monitor.unit.ts";
import type { Unit } from "../../../src/daemons/index.ts";
import { builtinRows } from "../../../src/events/index.ts";
import { settingDefaults } from "../../../src/kernel/settings/index.ts";
import { type NodeWorldOptions, nodeWorld } from "../../fixtures/node-world.ts";
import { unitWorld } from "../../fixtures/unit-world.ts";
import { type Scene, type ShownTypes, supervised, toldIn } from "./scene.ts";

/** Five nodes that work, and units that look at them. */
async function world(units: (services: ClusterServices) => readonly Unit[], options: NodeWorldOptions = {}) {
  const w = await nodeWorld(options);
  const nodes = [];
  for (const label of ["one", "two", "three", "four", "five"]) nodes.push(await w.join(label));
  const manager = await supervised(w, units(w.services));
  await w.live(30);
  return { ...w, manager, all: nodes, one: nodes[0]! };
}

async function nodeThatFails(): Promise<Scene> {
  const w = await world((services) => [membershipDaemon(services), nodeHealthDaemon(services)]);
  return {
    ...w,
    before() {
      w.end(w.all[1]!, true, 2);
      w.end(w.one, false, 3);
    },
    live: () => w.live(30),
    seen: () => [w.conditionOf(w.one), w.may(w.one)],
    idle: ["healthy", "all"],
    shows: ["unhealthy", 0],
  };
}

async function nodeWithFullDisk(): Promise<Scene> {
  const units = (services: ClusterServices) => [
    membershipDaemon(services),
    clusterMonitorDaemon(services),
    nodeHealthDaemon(services),
  ];
  const w = await world(units);
  return {
    ...w,
    before() {
      w.one.disk = "its disk is full";
    },
    live: () => w.live(90),
    seen: toldIn(w, ["CLUSTER_STATUS_CHANGED"], "cluster_status"),
    shows: ["CLUSTER_STATUS_CHANGED degraded"],
  };
}

/** A node is a line that it dialled: it beats, and is gone when it does not. */
async function nodeThatFallsSilent(): Promise<Scene> {
  const w = await world((services) => [membershipDaemon(services)]);
  return {
    ...w,
    before() {
      w.one.isBeating = false;
    },
    live: () => w.live(120),
    seen: () => w.told("HOST_OFFLINE").map(({ node_id }) => node_id),
    shows: [w.one.nodeId],
  };
}

async function nodeThatHangs(): Promise<Scene> {
  const power: NodePower = { ableTo: () => undefined, carryOut: async () => {} };
  const units = (services: ClusterServices) => [
    membershipDaemon(services),
    nodeHealthDaemon(services),
    nodeRecoveryDaemon(services),
  ];
  const w = await world(units, { more: () => ({ power }) });
  return {
    ...w,
    before() {
      w.one.held = { jobs: 2, moving: 0 };
    },
    async live() {
      w.one.stuckAt.push(w.clock.now(), w.clock.now());
      await w.live(80);
    },
    seen: () =>
      listActs(w.store)
        .map(({ label, rung }) => `${label} ${rung}`)
        .reverse(),
    shows: ["one observe", "one drain"],
  };
}

/** The way of this node to the coordinator is broken, whatever it goes over. */
async function lineThatIsDown(): Promise<Scene> {
  const w = await nodeWorld();
  const link = { failures: 0, reopened: 0 };
  const line = {
    reach: () => ({ peers: link.failures === 0 ? 1 : 0, expected: 1 }),
    failures: () => link.failures,
    reopen: () => {
      link.reopened += 1;
      link.failures = 0;
    },
  };
  return {
    ...w,
    manager: await supervised(w, [connectivityMonitorDaemon({ nodeId: "n2", line })]),
    before() {
      link.failures = 5;
    },
    live: () => w.pass(60_000),
    seen: () => ({
      reopened: link.reopened,
      told: toldIn(w, ["P2P_RESTART_TRIGGERED", "P2P_HEALTH_RECOVERED"], "node_id")(),
    }),
    idle: { reopened: 0, told: [] },
    shows: { reopened: 1, told: ["P2P_RESTART_TRIGGERED n2", "P2P_HEALTH_RECOVERED n2"] },
  };
}

async function machineWithoutWork(): Promise<Scene> {
  const w = unitWorld(builtinRows);
  const usage = createUsageGauge();
  const told: unknown[] = [];
  w.router.subscribe("IDLE_RESOURCE_DETECTED", ({ payload }) => void told.push(payload.node_id));
  const ownWork = () => ({ running: 0, slots: 4 });
  const unit = idleResourceDaemon({ nodeId: "n1", usage, idleRequests: createIdleRequests(), ownWork });
  return {
    ...w,
    manager: await supervised(w, [unit]),
    before: () =>
      usage.set({
        sample: {
          ...{ cpus: 4, cpuUsage: 0.05, cpuOthers: null, cpuPressure: 0, gpus: [] },
          memory: { usage: 0.2, totalBytes: 8e9, limitedBy: "machine", rssBytes: 1e8 },
          disk: { totalBytes: 100, usedBytes: 10, freeBytes: 90 },
          loopDelayMs: { p99: 0, max: 0 },
        },
        level: "none",
      }),
    live: () => w.pass(120_000),
    seen: () => [...new Set(told)],
    shows: ["n1"],
  };
}

async function machineShortOfMemory(): Promise<Scene> {
  const w = unitWorld(builtinRows);
  const machine = { memory: 0.5 };
  const sampler: ResourceSampler = {
    sample: async () => ({
      ...{ cpus: 8, cpuUsage: 0.5, cpuPressure: 1, cpuOthers: 0, gpus: [] },
      memory: { usage: machine.memory, totalBytes: 8e9, limitedBy: "machine", rssBytes: 1e8 },
      disk: { totalBytes: 1e12, usedBytes: 1e11, freeBytes: 9e11 },
      loopDelayMs: { p99: 1, max: 2 },
    }),
    close() {},
  };
  const settings = { resources: settingDefaults(resourceSettings) };
  const unit = resourceMonitorDaemon({ disk: createDiskGauge(), nodeId: "n1", sampler, settings });
  const told: string[] = [];
  w.router.subscribe(
    "RESOURCE_CONSTRAINT",
    ({ payload: { resource, level } }) => void told.push(`${resource} ${level}`),
  );
  return {
    ...w,
    manager: await supervised(w, [unit]),
    before() {
      machine.memory = 0.97;
    },
    live: () => w.pass(60_000),
    seen: () => told,
    shows: ["memory critical"],
  };
}

async function unitThatWasStopped(): Promise<Scene> {
  const w = await nodeWorld();
  const work: object[] = [];
  const services = { nodeId: "n1", store: w.store, work: () => work as never, nodes: w.services.nodes };
  return {
    ...w,
    manager: await supervised(w, [healthManagerCoordinator(services, healthLimits)]),
    before: () =>
      work.push({
        component: "root",
        everyMs: null,
        lastWorkAt: null,
        health: "stopped",
        message: "-",
        heldBack: false,
      }),
    live: () => w.pass(120_000),
    seen: () => toldIn(w, ["HEALTH_ALERT"], "component", "severity")().filter((line) => line.includes("root")),
    shows: ["HEALTH_ALERT root error"],
  };
}

const HEALTH = "node_health";
const RECOVERY = "node_recovery";
const LINE = "connectivity_monitor";

export const ofCluster = {
  SYSTEM_HEALTH_MONITOR: {
    unit: "health_manager",
    does: "calls a person for what is stopped",
    open: unitThatWasStopped,
  },
  HEALTH_CHECK: { unit: HEALTH, does: "finds a node that fails, and gives it no work", open: nodeThatFails },
  NODE_HEALTH_MONITOR: { unit: HEALTH, does: "finds a node that fails, and gives it no work", open: nodeThatFails },
  AVAILABILITY_NODE_MONITOR: {
    unit: HEALTH,
    does: "finds a node that fails, and gives it no work",
    open: nodeThatFails,
  },
  CLUSTER_WATCHDOG: { unit: HEALTH, does: "probes nodes, and finds the one that fails", open: nodeThatFails },
  CLUSTER_MONITOR: { unit: "cluster_monitor", does: "tells how the cluster as a whole is", open: nodeWithFullDisk },
  P2P_BACKEND: { unit: "membership", does: "follows nodes by the line that they dial", open: nodeThatFallsSilent },
  NODE_RECOVERY: { unit: RECOVERY, does: "treats a node that hangs, rung by rung", open: nodeThatHangs },
  AVAILABILITY_RECOVERY_ENGINE: { unit: RECOVERY, does: "has one ladder: watch, then drain", open: nodeThatHangs },
  RECOVERY_ORCHESTRATOR: { unit: RECOVERY, does: "treats nodes, and nothing else", open: nodeThatHangs },
  TAILSCALE_HEALTH: {
    unit: LINE,
    does: "begins the line of its node anew, whatever it goes over",
    open: lineThatIsDown,
  },
  P2P_RECOVERY: { unit: LINE, does: "begins the line of its node anew", open: lineThatIsDown },
  CONNECTIVITY_RECOVERY: {
    unit: LINE,
    does: "begins the line of its node anew, and tells when it is there again",
    open: lineThatIsDown,
  },
  IDLE_RESOURCE: { unit: "idle_resource_daemon", does: "says that its node has room", open: machineWithoutWork },
  MEMORY_MONITOR: { unit: "resource_monitor", does: "tells that memory is short", open: machineShortOfMemory },
} satisfies ShownTypes;

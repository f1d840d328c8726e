import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { ownership } from "../../../../test/fixtures/ownership.ts";
import { type UnitWorld, unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { type BuiltinRows, builtinRows, type EventName } from "../../../events/index.ts";
import { silentLog } from "../../../kernel/index.ts";
import type { ComponentWork } from "../../health/components.ts";
import { healthEvents, healthMeanings, type Meaning } from "../../health/health-events.ts";
import { healthLimits } from "../../limits.ts";
import { HealthBook, wellSince } from "../../node-health/health-book.ts";
import { NodeRegistry } from "../../nodes/node-registry.ts";
import { PROTOCOL } from "../../nodes/versions.ts";
import { healthGates, systemHealth } from "../../views.ts";
import { healthManagerCoordinator } from "./health-manager.unit.ts";

type World = UnitWorld<BuiltinRows>;
const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const MINUTE = 60_000;

const start = async (given: Partial<typeof healthLimits> = {}) => {
  const w = unitWorld(builtinRows);
  worlds.push(w);
  const units: ComponentWork[] = [];
  const timing = { beatMs: 15_000, suspectMs: 45_000, deadMs: 120_000, purgeMs: 7 * 86_400_000, startupGraceMs: 0 };
  const { store, clock } = w;
  const book = new HealthBook(store);
  const nodes = new NodeRegistry({
    ...{ store, clock, log: silentLog(), timing, localNodeId: "n1", version: "1.0.0" },
    healthOf: (id) => book.view(id),
  });
  const has = { cpu: 1, gpu: 0, memory_gb: 1, gpu_memory_gb: 0, tags: [] };
  await nodes.ensureLocal(has);
  nodes.settled("n1", { state: "online" });
  /** A node that has joined and is there. */
  const join = async (label: string): Promise<string> => {
    const public_key = randomBytes(32).toString("base64");
    const request = { public_key, label, version: "1.0.0", protocol: PROTOCOL.current, capabilities: has };
    const { node_id } = await nodes.join(request, { actor: "test", address: "" });
    nodes.settled(node_id, { state: "online" });
    return node_id;
  };
  const run = async () => {
    const runtime = w.runtime([
      healthManagerCoordinator({ nodeId: "n1", store, work: () => units, nodes }, { ...healthLimits, ...given }),
    ]);
    await w.driven(runtime.start());
    return runtime;
  };
  const runtime = await run();
  const say = (event: EventName, payload: object) => w.router.publish(event, payload as never, { source: "test" });
  const health = () => systemHealth(w.store, w.clock.now());
  const alerts = () =>
    w.router
      .history({ eventType: "HEALTH_ALERT", fromJournal: true })
      .map(({ payload }) => payload as Readonly<Record<string, string>>)
      .map(({ component, severity }) => `${component} ${severity}`);
  const beat = (node_id: string, unit = "worker") =>
    say("COORDINATOR_HEARTBEAT", {
      coordinator_name: unit,
      node_id,
      health: "running",
      handled_events: 1,
      failed_events: 0,
    });
  return { w, units, run, runtime, say, health, alerts, beat, nodes, join, book };
};

test("the table hears everything that the plan sends to health_manager, and names fields that there are", () => {
  const planned = Object.entries(ownership).filter(([, { consumers }]) => consumers.includes("health_manager"));
  expect(planned.map(([event]) => event).sort()).toEqual([...healthEvents].sort());
  for (const event of healthEvents) {
    const meaning: Meaning = healthMeanings[event];
    const texts = Object.values(meaning).filter((value) => typeof value === "string");
    const named = texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, field]) => field!));
    const fields = Object.keys(builtinRows[event].payload.shape);
    expect(
      named.filter((field) => !fields.includes(field)),
      event,
    ).toEqual([]);
  }
});

describe("health_manager", () => {
  test("says nothing good before anybody has judged", async () => {
    const w = unitWorld(builtinRows);
    worlds.push(w);
    expect(systemHealth(w.store, w.clock.now())).toMatchObject({
      status: "unhealthy",
      score: 0,
      reasons: ["nobody has judged the health of the system yet"],
    });
  });

  test("finds a small system that does its work healthy", async () => {
    const { w, units, health, alerts } = await start();
    units.push({
      component: "u",
      everyMs: 5_000,
      get lastWorkAt() {
        return w.clock.now();
      },
      health: "running",
      heldBack: false,
      message: "",
    });
    await w.pass(10 * MINUTE);
    expect(health()).toMatchObject({ status: "healthy", score: 100, reasons: [] });
    expect(health().parts.map(({ name }) => name)).toEqual(["nodes", "components", "errors", "recoveries"]);
    expect(alerts()).toEqual([]);
  });

  test("leaves no good word behind when its own loop is dead", async () => {
    const { w, runtime, health } = await start();
    await w.pass(MINUTE);
    expect(health().status).not.toBe("unhealthy");
    await w.driven(runtime.stop());
    await w.pass(3 * MINUTE);
    expect(health()).toMatchObject({ status: "unhealthy", score: 0 });
    expect(health().reasons[0]).toMatch(/last judged \d+ s ago: health_manager does not do its work/);
  });

  test("does not believe a unit whose loop stands still", async () => {
    const { w, units, health, alerts } = await start();
    units.push({
      component: "event_router",
      everyMs: 5_000,
      lastWorkAt: w.clock.now(),
      health: "running",
      heldBack: false,
      message: "",
    });
    await w.pass(50_000);
    expect(health().status).toBe("healthy");
    await w.pass(MINUTE);
    expect(health().status).toBe("unhealthy");
    expect(health().reasons.join()).toContain("event_router: its loop has done no round for");
    expect(alerts()).toEqual(["system critical", "event_router critical"]);
  });

  test("tells of one cause once: of the unit that was stopped, and later of who does not come back with it", async () => {
    const { w, units, alerts } = await start();
    const unit = (component: string, waitsFor?: string) => ({
      component,
      everyMs: null,
      lastWorkAt: null,
      health: "stopped" as const,
      message: "not subscribed",
      heldBack: false,
      waitsFor,
    });
    units.push(unit("root"), unit("a", "root"), unit("b", "root"));
    await w.pass(10_000);
    expect(alerts()).toEqual(["root error"]);
    expect(systemHealth(w.store, w.clock.now()).reasons).toEqual(["root: not subscribed; 2 daemons wait for it: a, b"]);
    units.splice(0, 3, { ...unit("root"), health: "running" }, { ...unit("a"), health: "running" }, unit("b"));
    await w.pass(10_000);
    expect(alerts()).toEqual(["root error", "b error", "root info"]);
  });

  test("calls nobody late for the time in which the machine slept", async () => {
    const { w, units, health } = await start({ everyMs: 40 * MINUTE });
    const row = {
      component: "event_router",
      everyMs: 5_000,
      lastWorkAt: w.clock.now(),
      health: "running",
      message: "",
    };
    units.push(row as ComponentWork);
    await w.pass(41 * MINUTE);
    expect(w.clock.now() - (units[0]!.lastWorkAt ?? 0)).toBeGreaterThan(40 * MINUTE);
    expect(health().reasons).toEqual([]);
    expect(health().status).toBe("healthy");
  });

  test("a daemon that was given up stays so when it is told to stop, until it runs again", async () => {
    const { w, say, health } = await start();
    const daemon = { daemon_name: "auto_sync", node_id: "n1" };
    await say("DAEMON_PERMANENTLY_FAILED", { ...daemon, restarts: 5, reason: "gone" });
    await say("DAEMON_STOPPED", { ...daemon, reason: "stop" });
    await w.pass(6_000);
    expect(health().reasons.join()).toContain("auto_sync: it is out of work: gone");
  });

  test("is unhealthy for as long as a burst of errors lasts, says why, and refuses no work for it", async () => {
    const { w, say, health } = await start();
    await w.pass(10_000);
    for (let i = 0; i < 12; i += 1) await say("ERROR", { component: `c${i}`, error: `no ${i}` });
    await w.pass(6_000);
    expect(health()).toMatchObject({ accepts_new_work: true, status: "unhealthy" });
    expect(health().reasons[0]).toBe("error_burst is 12, needed is 10. Fewer errors than this in five minutes.");
    expect(healthGates(w.store).find(({ gate }) => gate === "error_burst")).toMatchObject({
      passed: false,
      actual: 12,
    });
    await w.pass(5 * MINUTE);
    expect(health().status).not.toBe("unhealthy");
    expect(health().reasons).toEqual([]);
  });

  test("is unhealthy over a restart until the cause is gone, and no longer", async () => {
    const { w, say, run, runtime, health } = await start();
    await say("DAEMON_PERMANENTLY_FAILED", { daemon_name: "auto_sync", node_id: "n1", restarts: 5, reason: "gone" });
    await w.pass(6_000);
    expect(health().status).toBe("unhealthy");
    await w.driven(runtime.stop());
    await run();
    await w.pass(10 * MINUTE);
    expect(health().status).toBe("unhealthy");
    await say("DAEMON_STARTED", { daemon_name: "auto_sync", node_id: "n1", pid: 1 });
    await w.pass(10_000);
    expect(health().status).not.toBe("unhealthy");
  });

  test("calls a person once when it has been unhealthy for long, and tells when all is well again", async () => {
    const { w, say, alerts } = await start();
    await say("DAEMON_PERMANENTLY_FAILED", { daemon_name: "auto_sync", node_id: "n1", restarts: 5, reason: "gone" });
    await w.pass(40 * MINUTE);
    expect(alerts()).toEqual(["system critical", "auto_sync critical", "system critical"]);
    const calls = w.router.history({ eventType: "HEALTH_ALERT", fromJournal: true });
    expect(calls.at(-1)!.payload).toMatchObject({ action: expect.stringContaining("A person has to look") });
    await say("DAEMON_STARTED", { daemon_name: "auto_sync", node_id: "n1", pid: 1 });
    await w.pass(10 * MINUTE);
    expect(alerts().slice(3)).toEqual(["auto_sync info", "system info"]);
  });

  test("takes a node for online while the register does, however long nothing else is heard of it", async () => {
    const { w, health, join, nodes } = await start();
    const [a] = [await join("a"), await join("b"), await join("c")];
    await w.pass(10 * MINUTE);
    expect(health().parts[0]).toMatchObject({ score: 100, message: "4 of 4 nodes are online" });
    nodes.settled(a, { state: "dead" });
    await w.pass(6_000);
    expect(health().parts[0]).toMatchObject({ score: 75, message: "3 of 4 nodes are online; missing: a" });
    nodes.settled(a, { state: "left" });
    await w.pass(6_000);
    expect(health().parts[0]).toMatchObject({ score: 100, message: "3 of 3 nodes are online" });
  });

  test("counts a node that is ill by its checks as missing until it is well, and one that is degraded as there", async () => {
    const { w, health, join, book } = await start();
    const node_id = await join("a");
    const row = wellSince(w.clock.now());
    book.settled(node_id, { ...row, condition: "degraded" });
    await w.pass(6_000);
    expect(health().parts[0]!.message).toBe("2 of 2 nodes are online");
    book.settled(node_id, { ...row, condition: "unhealthy", reason: "its disk fails" });
    await w.pass(6_000);
    expect(health().parts[0]!.message).toBe("1 of 2 nodes are online; missing: a");
    book.settled(node_id, row);
    await w.pass(6_000);
    expect(health().parts[0]!.message).toBe("2 of 2 nodes are online");
  });

  test("makes nothing of what is told of a node that nobody knows", async () => {
    const { w, say, health, beat } = await start();
    await w.pass(MINUTE);
    const before = health();
    await beat("ghost");
    await say("NODE_UNHEALTHY", { node_id: "ghost", reason: "gone", consecutive_failures: 3, node_state: "unhealthy" });
    await say("HOST_OFFLINE", { node_id: "ghost", reason: "gone" });
    for (let i = 0; i < 12; i += 1)
      await say("SYNC_FAILURE_CRITICAL", { node_id: "ghost", consecutive_failures: i + 1, error: `no ${i}` });
    await say("DAEMON_PERMANENTLY_FAILED", { daemon_name: "x", node_id: "ghost", restarts: 5, reason: "gone" });
    await w.pass(10 * MINUTE);
    expect(health()).toEqual(before);
  });

  test("counts a repair that never ended as failed", async () => {
    const { w, say, health, join } = await start();
    const repair = { node_id: await join("n2"), recovery_action: "restart", reason: "silent", attempts: 1 };
    await say("RECOVERY_INITIATED", repair);
    await w.pass(MINUTE);
    expect(health().recoveries).toEqual({ succeeded: 0, failed: 0, under_way: 1 });
    await say("RECOVERY_COMPLETED", { node_id: repair.node_id, recovery_action: "restart", duration_seconds: 5 });
    await say("RECOVERY_INITIATED", repair);
    await w.pass(61 * MINUTE);
    expect(health().recoveries).toEqual({ succeeded: 1, failed: 1, under_way: 0 });
    expect(health().parts[3]).toMatchObject({ score: 50 });
  });

  test("keeps its books within bounds and takes every event once", async () => {
    const { w, say, health } = await start();
    for (let i = 0; i < 1_500; i += 1)
      await say("TASK_FAILED", {
        task_id: `t${i}`,
        node_id: "n1",
        work_type: "selfplay",
        error: "no",
        retryable: true,
      });
    await w.pass(10_000);
    expect(w.store.read<{ n: number }>("SELECT count(*) AS n FROM health_errors")[0]!.n).toBe(1_000);
    expect(health().components[0]).toMatchObject({ component: "tasks selfplay", breaker: "open", errors: 1_500 });
    expect(w.router.deadLetters.counts().pending).toBe(0);
  });

  test("writes an unchanged judgement twice a minute, not at every look", async () => {
    const { w } = await start();
    await w.pass(5 * MINUTE);
    const version = () =>
      w.store.read<{ version: number }>("SELECT version FROM state_rows WHERE table_name = 'health_verdict'")[0]!
        .version;
    const before = version();
    await w.pass(10 * MINUTE);
    expect(version() - before).toBeLessThanOrEqual(21);
    expect(version() - before).toBeGreaterThanOrEqual(19);
  });
});

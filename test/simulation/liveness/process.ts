/**
 * A main process of the simulated cluster: the shipped rooms over one disk that outlives it, on the clock of the world. It is
 * composed as `app` does it, without threads, sockets and files; its machine and its files are those of the world.
 */
import { inThreadStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import type { SqliteWriter } from "../../../src/adapters/sqlite/writer.ts";
import { holdersIn } from "../../../src/app/between-rooms/holders.ts";
import { nodeDutiesOf } from "../../../src/app/between-rooms/node-duties.ts";
import { nodeSignsOf } from "../../../src/app/between-rooms/node-signs.ts";
import { workersFor } from "../../../src/app/between-rooms/workers-for.ts";
import { createCauses } from "../../../src/app/causes/causes.ts";
import { workFacts } from "../../../src/app/causes/facts.ts";
import {
  type ClusterServices,
  clusterUnits,
  componentWork,
  createClusterServices,
} from "../../../src/cluster/index.ts";
import {
  alertSettings,
  nodeSettings,
  p2pSettings,
  recoverySettings,
  resourceSettings,
} from "../../../src/cluster/settings.ts";
import { createUnitRuntime, DaemonManager, type Unit } from "../../../src/daemons/index.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { type Clock, listeningTime, momentOf, pick, type Random, silentLog } from "../../../src/kernel/index.ts";
import { settingDefaults } from "../../../src/kernel/settings/index.ts";
import { createRatingEngine } from "../../../src/pipeline/evaluation/rating-engine.ts";
import {
  type ConfigPlan,
  configs,
  createPipelineConsole,
  pipelineSnapshot,
  pipelineStandings,
  pipelineUnits,
  stageJobs,
} from "../../../src/pipeline/index.ts";
import { createWriteSet, EventRouter } from "../../../src/router/index.ts";
import { troubleFacts } from "../../../src/surfaces/index.ts";
import { createSyncServices, syncUnits } from "../../../src/sync/index.ts";
import { createWorkServices, type WorkQueue, workSettings, workUnits } from "../../../src/work/index.ts";
import { testServices } from "../../unit/pipeline/services.ts";
import { oneNode } from "../../unit/sync/sync-world.ts";
import type { Files } from "./files.ts";
import type { Plant } from "./plants.ts";

/** The node of the main process. */
export const LOCAL = "home";
const VERSION = "1.0.0";

export interface Machine {
  /** Share of the processors that programs of others take. */
  others: number;
  /** Share of the disk in use. */
  disk: number;
}

export interface Surroundings {
  readonly writer: SqliteWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly machine: Machine;
  readonly plans: readonly ConfigPlan[];
  readonly plant: Plant;
  /** Chance that a unit never hears an event, and that the process dies around a commit. */
  chances(): { readonly lost: number; readonly crash: number };
  /** It died. */
  died(mine: MainProcess, at: string): void;
}

export interface MainProcess {
  alive: boolean;
  readonly queue: WorkQueue;
  readonly nodes: ClusterServices["nodes"];
  readonly console: ReturnType<typeof createPipelineConsole>;
  readonly causes: ReturnType<typeof createCauses>;
  /** Units that had to swallow something. */
  troubles(): string[];
}

const sampler = (machine: Machine): ClusterServices["sampler"] => ({
  async sample() {
    const { others, disk } = machine;
    const gigabyte = 1e9;
    return {
      cpus: 4,
      cpuUsage: Math.min(1, others + 0.3),
      cpuPressure: others,
      cpuOthers: others,
      memory: { usage: 0.4, totalBytes: 16 * gigabyte, limitedBy: "machine", rssBytes: gigabyte / 10 },
      disk: { totalBytes: 100 * gigabyte, usedBytes: 100 * disk * gigabyte, freeBytes: 100 * (1 - disk) * gigabyte },
      loopDelayMs: { p99: 1, max: 2 },
      gpus: [],
    };
  },
  close() {},
});

/** Progress is never asked for. */
const NEVER_STUCK = { progressFloorMs: Number.MAX_SAFE_INTEGER, firstProgressMs: Number.MAX_SAFE_INTEGER };

/** Looks of a unit come no closer: hours of such a world shall take seconds. */
const MIN_TICK_MS = 30_000;

/** The unit with bad ears, and no more often at work than it has to be. */
const deaf = (unit: Unit, random: Random, lost: () => number): Unit => ({
  ...unit,
  everyMs: unit.everyMs === null ? null : Math.max(unit.everyMs, MIN_TICK_MS),
  behaviour: {
    ...unit.behaviour,
    handle: (event, context) => (random.next() < lost() ? undefined : unit.behaviour.handle(event, context)),
  },
});

/** The queue as the planted code would see it: what cannot be read is a failure like any other. */
const withoutReasons = (queue: WorkQueue): WorkQueue =>
  new Proxy(queue, {
    get(target, name) {
      if (name !== "show") {
        const found = Reflect.get(target, name, target) as unknown;
        return typeof found === "function" ? found.bind(target) : found;
      }
      return (workId: string) => {
        const job = target.show(workId);
        return job?.failure == null || job.work_type !== "validation"
          ? job
          : { ...job, failure: { ...job.failure, error_code: null } };
      };
    },
  });

export function bootMain(around: Surroundings): MainProcess {
  const { writer, clock, random, files, machine, plans, plant } = around;
  const mine = { alive: true } as { -readonly [field in keyof MainProcess]: MainProcess[field] };
  const own: Clock = {
    ...clock,
    after: (ms, run, hold) => clock.after(ms, () => (mine.alive ? run() : undefined), hold),
  };
  let arrives = 0;
  const store = inThreadStore(writer, {
    clock: own,
    carry: (apply) => {
      arrives = Math.max(arrives, clock.monotonic() + pick(random, 4));
      clock.after(arrives - clock.monotonic(), () => {
        if (!mine.alive) return;
        const luck = random.next();
        const { crash } = around.chances();
        if (luck < crash / 2) return around.died(mine, "before a commit");
        const answer = apply();
        if (luck < crash) return around.died(mine, "after a commit");
        clock.after(0, () => (mine.alive ? answer() : undefined));
      });
    },
  });
  const log = silentLog();
  const catalog = createCatalog(builtinRows);
  const router = new EventRouter({ catalog, store, clock: own, random, log, nodeId: LOCAL }) as unknown as EventRouter;
  const { listened } = listeningTime(own);
  const manager = new DaemonManager({ clock: own, random, log, nodeId: LOCAL, pid: 1 });
  const given = createClusterServices({
    settings: {
      resources: settingDefaults(resourceSettings),
      nodes: settingDefaults(nodeSettings),
      recovery: settingDefaults(recoverySettings),
      alerts: settingDefaults(alertSettings),
      p2p: settingDefaults(p2pSettings),
      nodeId: LOCAL,
      dataDir: "/nowhere",
    },
    store,
    clock: own,
    listened,
    random,
    log,
    catalog: catalog as never,
    version: VERSION,
    work: () => componentWork(registry, runtime),
    signs: nodeSignsOf(() => work.queue),
    duties: nodeDutiesOf(() => ({ queue: work.queue, desk: sync.desk })),
  });
  given.close();
  const cluster: ClusterServices = { ...given, sampler: sampler(machine) };
  const { nodes } = cluster;
  const work = createWorkServices({
    router,
    store,
    clock: own,
    listened,
    random,
    settings: { ...settingDefaults(workSettings), ...(plant === "no-progress-deadline" ? NEVER_STUCK : {}) },
    barred: (node) => cluster.availability.barred(node),
    limited: (node) => cluster.availability.limited(node),
    ...(plant === "models-unread"
      ? {}
      : { judgeFile: async (_, { sha256 }) => (files.noise.has(sha256) ? "cannot be read" : undefined) }),
    ...(plant === "done-without-files" ? {} : { isStored: async (sha256: string) => files.has(sha256) }),
  });
  const { queue } = work;
  const sync = createSyncServices({
    router,
    store,
    files: files.store,
    clock: own,
    log,
    nodeId: LOCAL,
    ...oneNode,
    nodes: () => holdersIn(nodes, cluster.availability, []),
  });
  const pipeline = testServices({
    clock: own,
    ...sync,
    queue: plant === "noise-retried" ? withoutReasons(queue) : queue,
    freeSlots: () => work.desk.freeSlots,
    store,
    nodeId: LOCAL,
    engine: createRatingEngine(1_000),
    anchors: () => ["random", "mcts"],
    workersFor: (kind: string) =>
      plant === "nodes-as-workers" ? cluster.availability.working() : workersFor(kind, queue, cluster.availability),
    everyMs: MIN_TICK_MS,
  });
  const units = [
    ...clusterUnits(cluster),
    ...workUnits(work),
    ...syncUnits(sync.units),
    ...pipelineUnits(pipeline),
  ].map((unit) => deaf(unit as Unit, random, () => around.chances().lost));
  const registry = { catalog, units, parts: [], ingress: [], excused: {}, delegations: [] };
  const runtime = createUnitRuntime({ registry: registry as never, router, clock: own, log, manager });
  const snapshotOf = { store, queue, catalog: sync.catalog };
  const started = momentOf(clock);
  mine.queue = queue;
  mine.nodes = nodes;
  mine.console = createPipelineConsole({ router, store, clock: own, queue, catalog: sync.catalog });
  mine.causes = createCauses({
    now: () => clock.now(),
    named: (text) => nodes.named(text),
    pipeline: (only) => pipelineSnapshot(snapshotOf, clock.now(), only),
    standings: () => pipelineStandings(snapshotOf, clock.now()),
    jobsOf: (configKey) => stageJobs({ store }, configKey).flatMap((id) => queue.show(id) ?? []),
    work: () => workFacts({ queue, book: nodes, now: clock.now() }),
    daemons: () => manager.report(),
    fault: () => store.fault,
    troubles: () => troubleFacts({ router, daemons: manager, readiness: () => runtime.readiness(), started }),
    openAlerts: () => cluster.alerts.counts("open"),
    nodes: () => nodes.list(),
    health: () => undefined,
  });
  mine.troubles = () =>
    runtime
      .status()
      .filter(({ failed_events, tick_errors }) => failed_events + tick_errors > 0)
      .map(({ name, recent_errors }) => `${name}: ${JSON.stringify(recent_errors)}`);
  const begin = async () => {
    await cluster.enterOwnNode();
    const known = createWriteSet(store);
    await router.transact({ source: "test" }, ({ rows }) => {
      for (const plan of plans)
        if (known.get(configs, plan.config_key) === undefined)
          rows.put(configs, plan.config_key, { plan, paused: null });
    });
    await runtime.start();
  };
  void begin().catch(() => undefined);
  return mine;
}

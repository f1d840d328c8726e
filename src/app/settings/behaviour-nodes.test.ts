/** Each variable of nodes, work and artifacts changes what it names: seen at the parts that the program builds of it. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeWorld } from "../../../test/fixtures/node-world.ts";
import { unitWorld } from "../../../test/fixtures/unit-world.ts";
import { CAPABILITIES, nodeKeys } from "../../../test/support/node-client.ts";
import { nodeKey } from "../../../test/support/node-keys.ts";
import { entryOf, sha256Of, syncWorld } from "../../../test/unit/sync/sync-world.ts";
import { createClusterServices, timingOnTheWire } from "../../cluster/index.ts";
import { listActs } from "../../cluster/recovery/recovery-rows.ts";
import { clusterMonitorDaemon } from "../../cluster/units/cluster-monitor/cluster-monitor.unit.ts";
import { membershipDaemon } from "../../cluster/units/membership/membership.unit.ts";
import { nodeHealthDaemon } from "../../cluster/units/node-health/node-health.unit.ts";
import { nodeRecoveryDaemon } from "../../cluster/units/node-recovery/node-recovery.unit.ts";
import { resourceCoordinator } from "../../cluster/units/resource-coordinator/resource-coordinator.unit.ts";
import { builtinRows } from "../../events/index.ts";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import type { EventRouter } from "../../router/index.ts";
import { createCopies } from "../../sync/index.ts";
import { createWorkServices } from "../../work/index.ts";
import { artifactStoreOf } from "../between-rooms/artifact-files.ts";
import { orphanFolders } from "../between-rooms/orphan-folders.ts";
import { declaredServices, liveRegistry } from "../registry.ts";
import { startNodeSwim } from "../worker/node-swim.ts";
import { readSettings } from "./read.ts";
import { settingRows } from "./tree.ts";

type Environment = Readonly<Record<string, string>>;

/** A node that joined, beat once and was never heard again: what is told of it, by second. */
async function silentNode(environment: Environment, forSeconds: number): Promise<string[]> {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const settings = readSettings({ RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0", ...environment }, "/");
  const services = createClusterServices({
    settings,
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    log: silentLog(),
    catalog: w.router.catalog as never,
    version: "0.1.0",
    work: () => [],
  });
  const { nodes: book } = services;
  const units = [
    membershipDaemon(services),
    clusterMonitorDaemon(services),
    resourceCoordinator(services),
    nodeHealthDaemon(services),
    nodeRecoveryDaemon(services),
  ];
  const { node_id } = await w.driven(
    book.join(
      { ...nodeKeys(), label: "a", version: "0.1.0", protocol: 1, capabilities: CAPABILITIES },
      { actor: "test", address: "192.0.2.1" },
    ),
  );
  const load = { running: 0, free: CAPABILITIES };
  await w.driven(book.beat({ node_id, incarnation: 1, version: "0.1.0", load, spool: { waiting: 0 } }));
  await w.driven(w.runtime(units).start());
  await w.pass(forSeconds * 1_000);
  return w.router
    .history({ fromJournal: true, limit: 1_000 })
    .map(({ eventType }) => eventType)
    .filter((type) => /^(NODE_SUSPECT|NODE_RETIRED|P2P_NODE|CAPACITY_)/.test(type));
}

/** After how many seconds a node with a full disk is unhealthy. */
async function unhealthyAfter(environment: Environment): Promise<number> {
  const w = await nodeWorld({ environment: { RINGRIFT_NODE_HEALTH_CHECK: "10", ...environment } });
  onTestFinished(() => w.close());
  const node = await w.join("a");
  node.disk = "its disk is full";
  await w.driven(w.runtime([nodeHealthDaemon(w.services)]).start());
  for (let seconds = 0; ; seconds += 2) {
    if (w.conditionOf(node) === "unhealthy") return seconds;
    await w.pass(2_000);
  }
}

/** Whether a cluster in which jobs wait and nothing is done for ten minutes is told. */
async function toldOfStall(environment: Environment): Promise<boolean> {
  const clusterWork = { unfinished: () => 3, usefulAt: () => null, cause: () => "no worker is connected" };
  const w = await nodeWorld({ environment, more: () => ({ clusterWork }) });
  onTestFinished(() => w.close());
  await w.driven(w.runtime([membershipDaemon(w.services), clusterMonitorDaemon(w.services)]).start());
  await w.live(600);
  return w.told("CLUSTER_STALL_DETECTED").length > 0;
}

/** What is done within so many seconds for a node on which jobs stand still, and which restarts in vain. */
async function doneWithin(environment: Environment, forSeconds: number): Promise<string[]> {
  const w = await nodeWorld({ environment });
  onTestFinished(() => w.close());
  const [node] = [await w.join("a"), await w.join("b"), await w.join("c")];
  await w.driven(
    w.runtime([membershipDaemon(w.services), nodeHealthDaemon(w.services), nodeRecoveryDaemon(w.services)]).start(),
  );
  await w.live(10);
  node.stuckAt.push(w.clock.now(), w.clock.now());
  await w.live(forSeconds);
  return listActs(w.store)
    .map(({ rung }) => rung)
    .reverse();
}

/** Whether a job comes back within so many seconds from a holder that is never heard. */
async function comesBack(environment: Environment, afterSeconds: number): Promise<boolean> {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { work } = readSettings(environment, "/");
  const services = createWorkServices({
    router: w.router as unknown as EventRouter,
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    settings: work,
    barred: () => undefined,
  });
  const { queue } = services;
  await w.driven(queue.add({ work_type: "selfplay" }));
  await w.driven(queue.claim({ node_id: "a", most: 1, offer: CAPABILITIES }));
  await w.pass(afterSeconds * 1_000);
  return (await w.driven(queue.reap())).silent === 1;
}

/** Whether a job is taken from a holder that beats for so long without progress, where so many such jobs took 40 s. */
async function isTaken(environment: Environment, afterSeconds: number, known = 3): Promise<boolean> {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { queue } = createWorkServices({
    router: w.router as unknown as EventRouter,
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    settings: readSettings(environment, "/").work,
    barred: () => undefined,
  });
  const evidence = { outputs: [{ name: "g", sha256: "ab".repeat(32), bytes: 1 }], counts: { games: 1 } };
  const held = async () => {
    await w.driven(queue.add({ work_type: "selfplay" }));
    const [lease] = await w.driven(queue.claim({ node_id: "a", most: 1, offer: CAPABILITIES, start: true }));
    return lease!;
  };
  for (let n = 0; n < known; n += 1) {
    const lease = await held();
    await w.pass(40_000);
    await w.driven(queue.complete(lease, evidence));
  }
  const lease = await held();
  for (let passed = 0; passed < afterSeconds; passed += 10) {
    await w.pass(10_000);
    await w.driven(queue.heartbeat(lease, { progress: 0.5 }));
  }
  queue.workers.asked({ node_id: "b", most: 1, offer: CAPABILITIES });
  return (await w.driven(queue.reap())).stuck === 1;
}

/** How many of five jobs two workers of one token get, each asking for all. */
async function given(environment: Environment): Promise<number[]> {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { queue } = createWorkServices({
    router: w.router as unknown as EventRouter,
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    settings: readSettings(environment, "/").work,
    barred: () => undefined,
    withSameToken: () => ["a", "b"],
  });
  await w.driven(queue.addAll(Array.from({ length: 5 }, () => ({ work_type: "selfplay" as const }))));
  const claims = ["a", "b"].map((node_id) => ({ node_id, most: 5, offer: CAPABILITIES }));
  return (await w.driven(queue.claimAll(claims))).map((answer) => (answer.ok ? answer.value.length : -1));
}

/** Whether a token may bring three workers. */
async function bringsThree(environment: Environment): Promise<boolean> {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { nodes: book } = createClusterServices({
    settings: readSettings(environment, "/"),
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    log: silentLog(),
    catalog: w.router.catalog as never,
    version: "0.1.0",
    work: () => [],
  });
  const about = { tokenId: "t", actor: "test", address: "192.0.2.1", capabilities: CAPABILITIES };
  const enlisted = ["a", "b", "c"].map((node_id) => book.enlist({ node_id, ...about }).then(() => true));
  return (await w.driven(Promise.all(enlisted.map((each) => each.catch(() => false))))).every(Boolean);
}

/** How many of four jobs a node may hold on which other programs take half of the processors: by the units of the program. */
async function slotsBeside(environment: Environment): Promise<number | undefined> {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const services = createWorkServices({
    router: w.router as unknown as EventRouter,
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    settings: readSettings(environment, "/").work,
    barred: () => undefined,
  });
  services.queue.workers.asked({ node_id: "a", most: 4, offer: CAPABILITIES });
  const { units } = liveRegistry({ ...declaredServices(), work: services });
  await w.driven(w.runtime(units.filter(({ name }) => name === "utilization_optimizer")).start());
  const sample = {
    node_id: "a",
    cpu_usage: 0.5,
    cpu_others: 0.5,
    memory_usage: 0,
    disk_usage: 0,
    slots: 4,
    free_slots: 0,
  };
  for (let n = 0; n < 20; n += 1) {
    const told = await w.driven(w.router.publish("NODE_CAPACITY_UPDATED", sample, { source: "test" }));
    await w.driven(w.router.settled(told));
  }
  return services.queue.slots().get("a")?.slots;
}

/** What producers are told when so many jobs wait, the oldest for so long: by the units of the program. */
async function pressed(environment: Environment, jobs: number, waitedSeconds: number): Promise<string> {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { work } = readSettings(environment, "/");
  const services = createWorkServices({
    router: w.router as unknown as EventRouter,
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    settings: work,
    barred: () => undefined,
  });
  const { queue } = services;
  await w.driven(queue.addAll(Array.from({ length: jobs }, () => ({ work_type: "selfplay" as const }))));
  await w.pass(waitedSeconds * 1_000);
  const { units } = liveRegistry({
    ...declaredServices(),
    work: services,
  });
  await w.driven(w.runtime(units.filter(({ name }) => name === "work_queue_monitor")).start());
  await w.pass(10_000);
  const [told] = w.router.history({ eventType: "BACKPRESSURE_ACTIVATED" });
  return (told?.payload as { level?: string } | undefined)?.level ?? "none";
}

/** How long a file stays that nobody holds, of those times that somebody may set. */
async function staysFor(environment: Environment, which: "recorded" | "stray"): Promise<number | undefined> {
  const w = syncWorld({ policy: readSettings(environment, "/").artifacts });
  onTestFinished(() => w.close());
  await w.put("a file");
  if (which === "recorded")
    await w.change((artifacts) => {
      artifacts.record([entryOf("a file")]);
      artifacts.accept([sha256Of("a file")]);
    });
  let passed = 0;
  for (const ms of [90_000, 600_000, 3_600_000, 86_400_000]) {
    w.pass(ms - passed + 1);
    passed = ms + 1;
    if ((await w.sweeper.sweep({ dryRun: true })).files.length > 0) return ms;
  }
  return undefined;
}

async function takes(environment: Environment, bytes: Buffer): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "ringrift-settings-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const store = artifactStoreOf({ ...readSettings(environment, "/"), dataDir }, systemClock());
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const request = {
    sha256,
    offset: 0,
    size: bytes.length,
    length: bytes.length,
    bytes: (async function* () {
      yield bytes;
    })(),
    accept: () => {},
    from: "n1",
  };
  return store.write(request).then(
    () => "taken",
    (thrown: { code?: string }) => String(thrown.code),
  );
}

interface Behaviour {
  readonly see: (environment: Environment) => Promise<unknown>;
  readonly without: unknown;
  readonly set: string;
  readonly with: unknown;
}

/** How many copies a file of this kind must have where there are ten nodes. */
const copiesOf = (kind: string) => async (environment: Environment) =>
  createCopies({
    store: { read: () => [] },
    nodeId: "n1",
    copies: readSettings(environment, "/").artifacts.copies,
    nodes: () => [],
  }).requiredOf({ kind, config_key: "hex8_2p" }, 10);

const behaviours: Readonly<Record<string, Behaviour>> = {
  "p2p.startup_grace_period": {
    see: (environment) => silentNode({ RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "120", ...environment }, 100),
    without: [],
    set: "10",
    with: ["NODE_SUSPECT"],
  },
  "p2p.swim_enabled": {
    // Whom the coordinator tells a node to look after, of two that take probes.
    see: async (environment) => {
      const w = await nodeWorld({ environment });
      onTestFinished(() => w.close());
      const [one, two] = [await w.join("one"), await w.join("two")];
      for (const node of [one, two]) node.swim = { host: null, port: 7_946, known: 0, reached: 0, lost: [] };
      await w.live(10);
      return w.services.reach.peersFor(one.nodeId).length;
    },
    without: 0,
    set: "true",
    with: 1,
  },
  "p2p.swim_port": {
    see: async (environment) => {
      const { publicKey, privateKey } = nodeKey();
      const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
      const swim = await startNodeSwim({
        settings: readSettings(environment, "/"),
        node: { node_id: "n1", url: "http://localhost:1" },
        key: { publicKey, toPem: () => pem },
        incarnation: 1,
        ...{ clock: systemClock(), random: seededRandom(1), log: silentLog() },
      });
      onTestFinished(() => swim.close());
      return swim.report().port === 28_946;
    },
    without: false,
    set: "28946",
    with: true,
  },
  "nodes.beat": {
    see: async (environment) => timingOnTheWire(readSettings(environment, "/").nodes.timing).beat_seconds,
    without: 15,
    set: "5",
    with: 5,
  },
  "nodes.suspect": { see: (env) => silentNode(env, 60), without: ["NODE_SUSPECT"], set: "90", with: [] },
  "nodes.dead": {
    see: (environment) => silentNode(environment, 100),
    without: ["NODE_SUSPECT"],
    set: "90",
    with: ["NODE_SUSPECT", "P2P_NODE_DEAD"],
  },
  "nodes.purge": {
    see: async (environment) => (await silentNode(environment, 400)).includes("NODE_RETIRED"),
    without: false,
    set: "200",
    with: true,
  },
  "nodes.required_gpus": {
    see: async (environment) => (await silentNode(environment, 40)).includes("CAPACITY_LOW"),
    without: false,
    set: "1",
    with: true,
  },
  "nodes.health_check": { see: unhealthyAfter, without: 20, set: "2", with: 6 },
  "recovery.enabled": {
    see: (env) => doneWithin(env, 200),
    without: ["observe", "drain", "restart"],
    set: "false",
    with: ["observe"],
  },
  "recovery.observe": {
    see: (env) => doneWithin(env, 60),
    without: ["observe"],
    set: "5",
    with: ["observe", "drain", "restart"],
  },
  "recovery.patience": {
    see: (env) => doneWithin(env, 200).then((rungs) => rungs.at(-1)),
    without: "restart",
    set: "20",
    with: "person",
  },
  "recovery.acts_per_hour": {
    see: (env) => doneWithin(env, 200),
    without: ["observe", "drain", "restart"],
    set: "0",
    with: ["observe", "drain"],
  },
  "nodes.stall": { see: toldOfStall, without: false, set: "300", with: true },
  "nodes.max_of_token": { see: bringsThree, without: true, set: "2", with: false },
  "work.max_held_by_node": { see: given, without: [5, 0], set: "2", with: [2, 2] },
  "work.max_held_by_token": { see: given, without: [5, 0], set: "3", with: [3, -1] },
  "work.lease_silence": { see: (environment) => comesBack(environment, 50), without: false, set: "40", with: true },
  "work.progress_floor": { see: (environment) => isTaken(environment, 140), without: true, set: "300", with: false },
  "work.progress_factor": { see: (environment) => isTaken(environment, 100), without: false, set: "2", with: true },
  "work.first_progress": { see: (environment) => isTaken(environment, 300, 0), without: false, set: "200", with: true },
  "work.target_utilization": { see: slotsBeside, without: 2, set: "60", with: 1 },
  "work.queue_soft_limit": { see: (env) => pressed(env, 60, 0), without: "none", set: "60", with: "soft" },
  "work.queue_brake_limit": {
    see: (env) => pressed({ RINGRIFT_WORK_QUEUE_SOFT_LIMIT: "50", ...env }, 60, 0),
    without: "soft",
    set: "60",
    with: "hard",
  },
  "work.queue_hard_limit": {
    see: (env) =>
      pressed({ RINGRIFT_WORK_QUEUE_SOFT_LIMIT: "40", RINGRIFT_WORK_QUEUE_BRAKE_LIMIT: "50", ...env }, 60, 0),
    without: "hard",
    set: "60",
    with: "stop",
  },
  "work.queue_target_delay": { see: (env) => pressed(env, 1, 300), without: "none", set: "100", with: "hard" },
  "artifacts.most_bytes": {
    see: (environment) => takes(environment, Buffer.alloc(2_000)),
    without: "taken",
    set: "1999",
    with: "ARTIFACT_TOO_LARGE",
  },
  "artifacts.grace": { see: (env) => staysFor(env, "recorded"), without: 600_000, set: "90", with: 90_000 },
  "artifacts.copies_games": { see: copiesOf("games"), without: 2, set: "4", with: 4 },
  "artifacts.copies_models": { see: copiesOf("model"), without: 3, set: "1", with: 1 },
  "artifacts.copies_samples": { see: copiesOf("samples"), without: 1, set: "2", with: 2 },
  "artifacts.copies_rebuildable": { see: copiesOf("training_set"), without: 1, set: "2", with: 2 },
  "artifacts.copies_exceptions": { see: copiesOf("games"), without: 2, set: "hex8_2p:games:5", with: 5 },
  "artifacts.watched_folder": {
    see: async (env) =>
      orphanFolders(readSettings(env, "/"), { path: "/own", layout: "prefixes" }).map(({ path }) => path),
    without: ["/own"],
    set: "/games",
    with: ["/own", "/games"],
  },
  "artifacts.stray_grace": { see: (env) => staysFor(env, "stray"), without: 86_400_000, set: "3600", with: 3_600_000 },
};

const rows = settingRows.filter(({ key }) => key in behaviours);

test("each of them is a setting, and changes something", () => {
  expect(rows.map(({ key }) => key).sort()).toEqual(Object.keys(behaviours).sort());
  for (const behaviour of Object.values(behaviours)) expect(behaviour.with).not.toEqual(behaviour.without);
});

test.each(rows.map(({ key, variable }) => ({ key, variable })))(
  "$variable changes what one sees",
  async ({ key, variable }) => {
    const { see, without, set, with: seen } = behaviours[key]!;
    expect(await see({})).toEqual(without);
    expect(await see({ [variable]: set })).toEqual(seen);
  },
);

test.each([
  [{ RINGRIFT_NODE_BEAT: "30" }, "two heartbeats before it is suspect"],
  [{ RINGRIFT_NODE_SUSPECT: "120" }, "suspect before it is dead"],
  [{ RINGRIFT_NODE_PURGE: "60" }, "dead before it is removed"],
  [{ RINGRIFT_WORK_LEASE_SILENCE: "20" }, "two heartbeats before its job goes to another node"],
])("times that contradict each other are refused: %o", (environment, rule) => {
  expect(() => readSettings(environment, "/")).toThrow(rule);
});

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import {
  type AnyEvent,
  BoardType,
  COORDINATOR_REGISTRY,
  CoordinatorStatus,
  configKeyOf,
  type DaemonContext,
  DaemonManager,
  DaemonState,
  DaemonType,
  DataEventType,
  EventSource,
  getBootstrapStatus,
  HealthCheckHelper,
  type RouterEvent,
  SyncFacade,
  seededRandom,
  shutdownCoordination,
  silentLog,
  systemClock,
} from "../../../src/index.ts";
import { judgeArtifacts, recordArtifacts } from "../../../src/sync/artifact-operations.ts";
import { packSeqs } from "../../../src/sync/copies/bitset.ts";
import { artifactPath } from "../../support/loop.ts";
import { joinNode } from "../../support/node-client.ts";
import { PATIENT } from "../../support/patience.ts";
import { owned } from "../../support/process.ts";
import { ask } from "../../support/surface.ts";
import { boot, type World, walk } from "./world.ts";

/** The blocks of 004, by their sections, in the order in which they stand there. */
const sections = [
  "Architecture Diagram: the picture of the parts",
  "1 Import: what the daemon manager is made of",
  "1 Getting the Manager: the one of this process",
  "1 Starting Daemons: one, with dependencies, all, a profile",
  "1 Stopping Daemons: one, all, by force",
  "1 Querying Status: status, running, health, liveness",
  "1 Registering Custom Daemons: a factory with its rules",
  "1 Handling Permanently Failed Daemons: look and reset",
  "1 Configuration Options: all of a manager's",
  "2 Import: what the event system is made of",
  "2 Publishing Events: awaited, by constant, at once, by route",
  "2 Module-Level Convenience Function: publish and no more",
  "2 Subscribing to Events: to one, by constant, to all, and no longer",
  "2 RouterEvent Structure: its ten fields",
  "2 Event Sources: the four of them",
  "2 Checking Subscribers: whether anybody hears",
  "2 Router Statistics: counts and history",
  "3 Import: what the sync facade is made of",
  "3 Basic Sync Operations: three calls",
  "3 Using SyncFacade Directly: one request with all options",
  "3 Priority Sync for Recovery: at once, with a reason",
  "3 SyncResponse Structure: what a sync came to",
  "3 Sync Backends: the ways to move a file",
  "3 Health Check: of the sync facade",
  "4 Import: what the bootstrap is made of",
  "4 Initialization: all of it, and with switches",
  "4 Status Checking: how it went",
  "4 Shutdown: in good order",
  "5 HealthCheckResult Protocol: its four fields",
  "5 Implementing Health Checks: by the share of errors",
  "5 Using HealthCheckHelper: three checks",
  "6 Full Daemon Lifecycle: start in order and look after them",
  "6 Event-Driven Pipeline: two handlers that publish",
  "6 Priority Sync with Feedback: sync, then tell",
  "6 Health Monitoring Dashboard: one page of everything",
] as const;

/** A manager of one's own, with what 004 gives its constructor. */
const ownManager = (config: Partial<DaemonManager["config"]> = {}) => {
  const given = { clock: systemClock(), random: seededRandom(1), log: silentLog(), nodeId: "here", pid: process.pid };
  const manager = new DaemonManager({ ...given, config });
  onTestFinished(async () => void (await manager.shutdown({ timeoutMs: 1_000, force: true })));
  return manager;
};

const untilEnd = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** Ready at once, and ends when it is told to. */
const polite = ({ ready, signal }: DaemonContext) => {
  ready();
  return untilEnd(signal);
};

/** Ready at once, and never ends. */
const deaf = ({ ready }: DaemonContext) => {
  ready();
  return new Promise<void>(() => {});
};

/** A file of games at home, and a node that has joined, has room, and does what it is told to fetch. */
async function joinedHolder(
  { coordination, dataDir }: World,
  config_key: ReturnType<typeof configKeyOf>,
  label: string,
) {
  const sha256 = createHash("sha256").update("games").digest("hex");
  const file = {
    sha256,
    kind: "games",
    bytes: 5,
    rows: 0,
    games: 1,
    config_key,
    producer: coordination.settings.nodeId,
  };
  const origin = { rules_version: null, parents: [], work_id: null, part: null, iteration: null };
  const at = Date.now();
  const path = artifactPath(dataDir, sha256);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "games");
  await coordination.router.store.commit([
    recordArtifacts({ entries: [{ ...file, ...origin }], at }),
    judgeArtifacts({ sha256s: [sha256], action: "accept", reason: null, at }),
  ]);
  const { port, socketPath } = coordination.api;
  await ask({ socketPath }, `/v1/artifacts/${sha256}/verify`, { method: "POST", body: {} });
  const wanted = { method: "POST", body: { label, scope: "worker" } };
  const { token } = (await ask({ socketPath }, "/v1/tokens", wanted)).json;
  const node = await joinNode({ host: "127.0.0.1", port }, String(token), label);
  const post = async (path: string, more: object) => {
    const { status, json, text } = await node.send("POST", path, { node_id: node.nodeId, incarnation: 1, ...more });
    expect(status, text).toBe(200);
    return json;
  };
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  const tell = (held: readonly string[]) => post("/v1/sync/copies", { held, storage });
  await node.beat();
  await post("/v1/sync/confirm", { upto: 0, bits: packSeqs([], 0) });
  await tell([]);
  return {
    /** Waits for its order, and says that it holds the file. */
    async carryOut() {
      await expect.poll(async () => (await tell([])).orders, PATIENT).toMatchObject([{ action: "fetch", sha256 }]);
      expect((await tell([sha256])).held).toEqual(["counted"]);
    },
  };
}

walk("004", sections, {
  "Architecture Diagram: the picture of the parts"({ coordination }) {
    expect(Object.keys(DaemonType)).toEqual(expect.arrayContaining(["DATA_PIPELINE", "FEEDBACK_LOOP", "EVALUATION"]));
    expect([coordination.router.dataBus, coordination.router.stageBus, coordination.router.crossProcess]).toEqual(
      Array(3).fill(expect.objectContaining({ publish: expect.any(Function) })),
    );
    expect(coordination.sync).toBeInstanceOf(SyncFacade);
  },

  "1 Import: what the daemon manager is made of"({ coordination }) {
    expect(coordination.daemons).toBeInstanceOf(DaemonManager);
    expect([DaemonType.AUTO_SYNC, DaemonState.RUNNING]).toEqual(["AUTO_SYNC", "running"]);
  },

  async "1 Getting the Manager: the one of this process"({ coordination: { daemons }, ringrift }) {
    // There is one: what is done by it is what the process tells of itself.
    const shown = async () => JSON.parse(await ringrift("daemons", "show", "dlq_retry", "--json")).daemon;
    expect(await shown()).toMatchObject({ name: "dlq_retry", state: "running" });
    await daemons.stop(DaemonType.DLQ_RETRY);
    expect(await shown()).toMatchObject({ name: "dlq_retry", state: "stopped" });
    await daemons.start(DaemonType.DLQ_RETRY);
    expect(await shown()).toMatchObject({ name: "dlq_retry", state: "running" });
  },

  async "1 Starting Daemons: one, with dependencies, all, a profile"(world) {
    const { daemons } = world.coordination;
    expect(await daemons.start(DaemonType.DATA_CONSOLIDATION)).toBe(true);
    expect(await daemons.start(DaemonType.DATA_PIPELINE, { waitForDeps: true })).toBe(true);
    expect((await daemons.startAll()).notStarted).toEqual({});
    expect((await daemons.startAll({ profile: "coordinator" })).started).toContain("pipeline_orchestrator");
    expect((await daemons.startAll({ profile: "training_node" })).started).toContain("resource_monitor");
  },

  async "1 Stopping Daemons: one, all, by force"({ coordination: { daemons } }) {
    expect(await daemons.stop(DaemonType.DLQ_RETRY)).toBe(true);
    expect(await daemons.start(DaemonType.DLQ_RETRY)).toBe(true);
    const own = ownManager();
    own.registerFactory({ daemonType: "deaf", factory: deaf });
    await own.startAll();
    expect(await own.shutdown({ timeoutMs: 300, force: true })).toEqual({ hung: ["deaf"] });
    const orderly = ownManager();
    orderly.registerFactory({ daemonType: "polite", factory: polite });
    await orderly.startAll();
    expect(await orderly.shutdown()).toEqual({ hung: [] });
  },

  "1 Querying Status: status, running, health, liveness"({ coordination: { daemons } }) {
    expect(daemons.getStatus().event_router).toMatchObject({ name: "event_router", state: "running" });
    expect(daemons.isRunning(DaemonType.EVENT_ROUTER)).toBe(true);
    expect(daemons.getAllDaemonHealth().event_router).toMatchObject({ healthy: true, state: "running" });
    expect(daemons.livenessProbe()).toBe(true);
  },

  async "1 Registering Custom Daemons: a factory with its rules"({ coordination: { daemons } }) {
    let ran = false;
    daemons.registerFactory({
      daemonType: "my_daemon",
      async factory({ ready, signal }) {
        ran = true;
        ready();
        await untilEnd(signal);
      },
      dependsOn: [DaemonType.EVENT_ROUTER],
      healthCheckIntervalMs: 30_000,
      autoRestart: true,
      maxRestarts: 5,
    });
    expect([await daemons.start("my_daemon"), ran]).toEqual([true, true]);
    expect(daemons.getStatus().my_daemon).toMatchObject({ dependsOn: ["event_router"], maxRestarts: 5 });
  },

  async "1 Handling Permanently Failed Daemons: look and reset"() {
    const manager = ownManager({ maxRestartAttempts: 0 });
    manager.registerFactory({ daemonType: "some_daemon", factory: () => Promise.reject(new Error("broken")) });
    await manager.start("some_daemon");
    await expect.poll(() => manager.isPermanentlyFailed("some_daemon")).toBe(true);
    expect(manager.clearPermanentlyFailed("some_daemon")).toBe(true);
    expect(manager.isPermanentlyFailed("some_daemon")).toBe(false);
  },

  "1 Configuration Options: all of a manager's"() {
    const config = {
      autoStart: false,
      enableCoordinationWiring: true,
      dependencyWaitTimeoutMs: 30_000,
      dependencyPollIntervalMs: 500,
      healthCheckIntervalMs: 30_000,
      shutdownTimeoutMs: 30_000,
      forceKillTimeoutMs: 5_000,
      autoRestartFailed: true,
      strictRegistryValidation: false,
      maxRestartAttempts: 5,
      recoveryCooldownMs: 10_000,
      criticalDaemonHealthIntervalMs: 15_000,
    };
    // They are the defaults, too.
    expect(ownManager().config).toMatchObject(config);
    expect(ownManager(config).config).toMatchObject(config);
  },

  "2 Import: what the event system is made of"({ coordination: { router } }) {
    const calls = [router.publish, router.subscribe, router.unsubscribe, router.hasSubscribers];
    expect(calls).toEqual(calls.map(() => expect.any(Function)));
    expect(EventSource.ROUTER).toBe("router");
  },

  async "2 Publishing Events: awaited, by constant, at once, by route"({ coordination: { router } }) {
    const trained = await router.publish(
      "TRAINING_COMPLETED",
      { config: "hex8_2p", success: true, epochs: 50 },
      { source: "training_daemon" },
    );
    // The old key is lifted; what our row does not know is kept as it came.
    expect(trained.payload).toEqual({ config_key: "hex8_2p", success: true, epochs: 50 });
    const promoted = await router.publish(
      DataEventType.MODEL_PROMOTED,
      { model_path: "models/canonical_hex8_2p.pth" },
      { source: "auto_promotion" },
    );
    expect(promoted).toMatchObject({ eventType: "MODEL_PROMOTED", source: "auto_promotion" });
    const synced = router.publishSync(
      "DATA_SYNC_COMPLETED",
      { games_synced: 150, duration: 12.5 },
      { source: "sync_daemon" },
    );
    expect((await synced.durable).payload).toMatchObject({ duration_seconds: 12.5 });
    const routed = await router.publish(
      "CUSTOM_EVENT",
      { data: "value" },
      { routeToDataBus: true, routeToStageBus: false, routeToCrossProcess: true },
    );
    expect(routed.views).toEqual({ dataBus: true, stageBus: false, crossProcess: true });
    expect(router.getStats().incomplete_events).toMatchObject({ TRAINING_COMPLETED: 1, MODEL_PROMOTED: 1 });
  },

  async "2 Module-Level Convenience Function: publish and no more"({ coordination: { router } }) {
    const event = await router.publish(
      DataEventType.TRAINING_COMPLETED,
      { config: "square8_2p" },
      { source: "trainer" },
    );
    expect(event).toMatchObject({ source: "trainer", orderKey: "square8_2p" });
  },

  async "2 Subscribing to Events: to one, by constant, to all, and no longer"({ coordination: { router } }) {
    const heard: string[] = [];
    const onTrainingComplete = async (event: RouterEvent<"TRAINING_COMPLETED">) =>
      void heard.push(`trained ${event.payload.config_key}`);
    const onPromoted = (event: AnyEvent) => void heard.push(`promoted by ${event.source}`);
    // All of them: the process speaks of itself in between.
    const onAny = ({ eventType, source }: AnyEvent) => void (source === "twin" && heard.push(eventType));
    router.subscribe("TRAINING_COMPLETED", onTrainingComplete);
    router.subscribe(DataEventType.MODEL_PROMOTED, onPromoted as never);
    router.subscribe(null, onAny);
    await router.publish("TRAINING_COMPLETED", { config: "hex8_3p" }, { source: "twin" });
    await router.publish("MODEL_PROMOTED", { model_path: "x" }, { source: "twin" });
    expect(heard).toEqual(["TRAINING_COMPLETED", "trained hex8_3p", "MODEL_PROMOTED", "promoted by twin"]);
    expect(router.unsubscribe("TRAINING_COMPLETED", onTrainingComplete)).toBe(true);
    expect([router.unsubscribe("MODEL_PROMOTED", onPromoted), router.unsubscribe(null, onAny)]).toEqual([true, true]);
  },

  async "2 RouterEvent Structure: its ten fields"({ coordination: { router } }) {
    expect(await router.publish("CUSTOM_EVENT", { data: 1 }, { source: "twin" })).toMatchObject({
      eventType: "CUSTOM_EVENT",
      payload: { data: 1 },
      timestamp: expect.any(Number),
      source: "twin",
      origin: EventSource.ROUTER,
      eventId: expect.any(String),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      correlationId: expect.any(String),
      parentEventId: null,
      contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  },

  "2 Event Sources: the four of them"() {
    expect(EventSource).toEqual({
      DATA_BUS: "data_bus",
      STAGE_BUS: "stage_bus",
      CROSS_PROCESS: "cross_process",
      ROUTER: "router",
    });
  },

  "2 Checking Subscribers: whether anybody hears"({ coordination: { router } }) {
    expect([router.hasSubscribers("DATA_SYNC_COMPLETED"), router.hasSubscribers("CUSTOM_EVENT")]).toEqual([
      true,
      false,
    ]);
  },

  "2 Router Statistics: counts and history"({ coordination: { router } }) {
    expect(router.getStats()).toMatchObject({
      events_routed: { CUSTOM_EVENT: expect.any(Number) },
      events_by_source: { router: expect.any(Number) },
      duplicates_prevented: expect.any(Number),
      content_duplicates_prevented: expect.any(Number),
    });
    expect(router.history().at(-1)).toHaveProperty("eventId");
  },

  "3 Import: what the sync facade is made of"({ coordination }) {
    expect(coordination.sync).toBeInstanceOf(SyncFacade);
  },
  async "3 Basic Sync Operations: three calls"({ coordination: { sync } }) {
    // There is nobody beside this machine, and nothing to bring: that is well, and says by which way.
    expect(await sync.sync("games")).toMatchObject({
      success: true,
      details: { tried: ["auto_sync", "router", "distributed"] },
    });
    await expect(sync.sync("models", { targets: ["node-1", "node-2"] })).rejects.toMatchObject({
      code: "NODE_NOT_FOUND",
    });
    expect(await sync.sync("games", { boardType: "hex8", priority: "high" })).toMatchObject({
      details: { tried: ["cluster_data_sync", "router", "distributed"] },
    });
  },
  async "3 Using SyncFacade Directly: one request with all options"({ coordination: { sync, settings } }) {
    const response = await sync.sync("games", {
      targets: [settings.nodeId],
      boardType: "hex8",
      numPlayers: 2,
      priority: "high",
      timeoutSeconds: 300,
      bandwidthLimitMbps: 50,
      excludeNodes: [],
      preferEphemeral: false,
      requireConfirmation: true,
    });
    // This machine is the only one: it says by which ways it looked for another.
    expect(response.success).toBe(false);
    expect(response.errors).toContain("distributed: there is no other node");
  },
  async "3 Priority Sync for Recovery: at once, with a reason"({ coordination: { sync, settings } }) {
    const response = await sync.triggerPrioritySync({
      reason: "orphan_games_recovery",
      sourceNode: settings.nodeId,
      configKey: "hex8_2p",
      dataType: "games",
    });
    expect(response.errors).toContain("distributed: there is no other node");
  },
  async "3 SyncResponse Structure: what a sync came to"({ coordination: { sync } }) {
    expect(await sync.sync("games")).toEqual({
      success: true,
      backendUsed: expect.any(String),
      nodesSynced: expect.any(Number),
      bytesTransferred: 0,
      durationSeconds: expect.any(Number),
      errors: expect.any(Array),
      details: expect.objectContaining({ syncId: expect.any(String) }),
    });
  },
  async "3 Sync Backends: the ways to move a file"({ coordination: { sync } }) {
    const used = async (more: object) => (await sync.sync("games", more)).details.tried[0];
    expect([await used({ preferEphemeral: true }), await used({ priority: "critical" }), await used({})]).toEqual([
      "ephemeral_sync",
      "cluster_data_sync",
      "auto_sync",
    ]);
  },
  "3 Health Check: of the sync facade"({ coordination: { sync } }) {
    // Two of the eight above had nobody to bring anything to, and it says so. One that was refused is none.
    expect(sync.healthCheck()).toEqual({
      healthy: false,
      status: "degraded",
      message: "2 of 8 syncs failed",
      details: { operationsCount: 8, errorsCount: 2, backendsLoaded: 1 },
    });
    expect(sync.getStats()).toEqual({ totalSyncs: 8, byBackend: { distributed: 8 }, totalBytes: 0, totalErrors: 2 });
  },

  "4 Import: what the bootstrap is made of"() {
    expect([boot, shutdownCoordination, getBootstrapStatus]).toEqual(Array(3).fill(expect.any(Function)));
    expect(COORDINATOR_REGISTRY.map(({ name }) => name)).toContain("task_coordinator");
  },

  async "4 Initialization: all of it, and with switches"() {
    const folder = () => join(owned(onTestFinished).folder(), "data");
    const single = await boot(folder(), { enable: { leadership: false, health: true } });
    onTestFinished(() => single.shutdown());
    expect(single.bootstrapStatus().initialized).toBe(true);
    const units = { metrics: "metrics_orchestrator", optimization: "optimization_coordinator" } as const;
    const runs = ({ daemons }: typeof single, feature: keyof typeof units) => daemons.isRunning(units[feature]);
    for (const feature of ["metrics", "optimization"] as const) {
      const without = await boot(folder(), { enable: { [feature]: false } });
      onTestFinished(() => without.shutdown());
      expect([runs(single, feature), runs(without, feature)]).toEqual([true, false]);
    }
  },

  "4 Status Checking: how it went"({ coordination }) {
    const status = getBootstrapStatus(coordination);
    expect(status).toMatchObject({
      initialized: true,
      started_at: expect.any(Number),
      completed_at: expect.any(Number),
      coordinators: { task_coordinator: { initialized: true, subscribed: true, error: null } },
      errors: [],
    });
  },

  async "4 Shutdown: in good order"() {
    const coordination = await boot(join(owned(onTestFinished).folder(), "data"));
    await shutdownCoordination(coordination);
    await expect(coordination.router.publish("CUSTOM_EVENT", {})).rejects.toMatchObject({ code: "ROUTER_STOPPED" });
  },

  "5 HealthCheckResult Protocol: its four fields"({ coordination: { daemons } }) {
    const { healthy, status, message, details } = daemons.getAllDaemonHealth().event_router!;
    expect({ healthy, status, message, details }).toEqual({
      healthy: true,
      status: CoordinatorStatus.RUNNING,
      message: expect.any(String),
      details: expect.any(Object),
    });
  },

  async "5 Implementing Health Checks: by the share of errors"() {
    const manager = ownManager({ healthCheckIntervalMs: 5 });
    const work = { errors: 3, cycles: 10 };
    manager.registerFactory({
      daemonType: "mine",
      factory: polite,
      healthCheck() {
        const isBad = !HealthCheckHelper.checkErrorRate({ ...work, threshold: 0.5 }).ok;
        const { ok, message } = HealthCheckHelper.checkErrorRate({ ...work, threshold: 0.2 });
        const { STOPPED, DEGRADED, RUNNING } = CoordinatorStatus;
        return { status: isBad ? STOPPED : ok ? RUNNING : DEGRADED, message, details: { ...work } };
      },
    });
    await manager.start("mine");
    await expect
      .poll(() => manager.getAllDaemonHealth().mine)
      .toMatchObject({ healthy: false, status: "degraded", state: "degraded", details: { cycles: 10, errors: 3 } });
  },

  "5 Using HealthCheckHelper: three checks"() {
    expect(HealthCheckHelper.checkErrorRate({ errors: 5, cycles: 100, threshold: 0.5 }).ok).toBe(true);
    expect(HealthCheckHelper.checkUptimeGrace({ startedAt: 0, now: 10_000, gracePeriodMs: 30_000 }).ok).toBe(true);
    expect(HealthCheckHelper.checkQueueDepth({ depth: 1_001, maxDepth: 1_000 }).ok).toBe(false);
  },

  async "6 Full Daemon Lifecycle: start in order and look after them"({ coordination: { daemons } }) {
    expect([await daemons.start(DaemonType.EVENT_ROUTER), await daemons.start(DaemonType.DATA_PIPELINE)]).toEqual([
      true,
      true,
    ]);
    expect([await daemons.start(DaemonType.AUTO_SYNC), await daemons.start(DaemonType.FEEDBACK_LOOP)]).toEqual([
      true,
      true,
    ]);
    // One look of the loop that watches over them.
    const watched = Object.entries(daemons.getAllDaemonHealth()).filter(
      ([, { healthy }]) => typeof healthy === "boolean",
    );
    expect(watched.map(([name]) => name)).toEqual(Object.keys(daemons.getStatus()));
  },

  async "6 Event-Driven Pipeline: two handlers that publish"({ coordination: { router } }) {
    const told: string[] = [];
    const stops = [
      router.subscribe("DATA_SYNC_COMPLETED", async ({ payload }) => {
        const { games = 0 } = payload;
        if (games > 100) await router.publish("EXPORT_TRIGGERED", { threshold_met: true }, { source: "pipeline" });
      }),
      router.subscribe("NPZ_EXPORT_COMPLETED", async ({ payload }) => {
        if (Number(payload.samples) > 10_000)
          await router.publish("TRAINING_TRIGGERED", { samples: payload.samples }, { source: "pipeline" });
      }),
      router.subscribe(null, ({ eventType, source }) => void (source === "pipeline" && told.push(eventType))),
    ];
    await router.publish("DATA_SYNC_COMPLETED", { games_synced: 150 });
    await router.publish("NPZ_EXPORT_COMPLETED", { samples_exported: 20_000 });
    // Old keys are ours by the time that a handler sees them, and the old name of the wish to train is today's.
    await expect.poll(() => told.toSorted()).toEqual(["EXPORT_TRIGGERED", "TRAINING_THRESHOLD_REACHED"]);
    for (const stop of stops) stop();
  },

  async "6 Priority Sync with Feedback: sync, then tell"(world) {
    const { router, sync, settings } = world.coordination;
    const syncWithFeedback = async (config_key: string, source_node: string) => {
      const request = { targets: [source_node], priority: "high", requireConfirmation: true } as const;
      const response = await sync.sync("games", request);
      const from = { source: "sync_orchestrator" };
      return response.success
        ? router.publish(
            "PRIORITY_SYNC_COMPLETED",
            { config_key, source_node, games_synced: response.nodesSynced },
            from,
          )
        : router.publish("PRIORITY_SYNC_FAILED", { config_key, errors: response.errors }, from);
    };
    const config_key = configKeyOf(BoardType.HEX8, 2);
    // To itself nobody brings anything.
    expect(await syncWithFeedback(config_key, settings.nodeId)).toMatchObject({
      eventType: "PRIORITY_SYNC_FAILED",
      source: "sync_orchestrator",
      payload: { config_key, errors: expect.arrayContaining(["distributed: there is no other node"]) },
    });
    const node = await joinedHolder(world, config_key, "vast-1");
    const [done] = await Promise.all([syncWithFeedback(config_key, "vast-1"), node.carryOut()]);
    expect(done).toMatchObject({
      eventType: "PRIORITY_SYNC_COMPLETED",
      source: "sync_orchestrator",
      payload: { config_key, source_node_id: "vast-1", games: 1 },
    });
  },

  async "6 Health Monitoring Dashboard: one page of everything"({ coordination: { daemons, router, sync } }) {
    const getSystemHealth = () => {
      const states = Object.values(daemons.getAllDaemonHealth()).map(({ state }) => state);
      const { events_routed, duplicates_prevented } = router.getStats();
      return {
        daemons: {
          running: states.filter((state) => state === DaemonState.RUNNING).length,
          failed: states.filter((state) => state === DaemonState.FAILED).length,
          total: states.length,
        },
        sync: { healthy: sync.healthCheck().healthy, total_syncs: sync.getStats().totalSyncs },
        events: { routed: Object.values(events_routed).reduce((sum, n) => sum + n, 0), duplicates_prevented },
      };
    };
    const before = getSystemHealth();
    // Eight of the third chapter and two of the block above; three of the ten failed.
    expect(before.sync).toEqual({ healthy: false, total_syncs: 10 });
    const total = Object.keys(daemons.getStatus()).length;
    expect(before.daemons).toEqual({ running: total, failed: 0, total });
    // Each number moves by what happens.
    await daemons.stop(DaemonType.DLQ_RETRY);
    const { eventId } = await router.publish("CUSTOM_EVENT", { page: 1 });
    await router.publish("CUSTOM_EVENT", { page: 1 }, { eventId });
    const after = getSystemHealth();
    expect(after.daemons).toEqual({ running: total - 1, failed: 0, total });
    expect(after.events.routed).toBeGreaterThan(before.events.routed);
    expect(after.events.duplicates_prevented).toBe(before.events.duplicates_prevented + 1);
    await daemons.start(DaemonType.DLQ_RETRY);
  },
});

test("a started daemon keeps its process alive, and the end of the manager lets it go", async () => {
  const own = owned(onTestFinished);
  const program = own.startNode(fileURLToPath(new URL("../parts/bare-manager.ts", import.meta.url)));
  await program.waitForLine(/^started true$/);
  await program.waitForLine(/^still here$/);
  program.kill("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
});

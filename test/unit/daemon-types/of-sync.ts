/** The daemon types whose work the room `sync` does. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { Unit } from "../../../src/daemons/index.ts";
import type { DaemonType } from "../../../src/daemons/legacy.ts";
import { builtinRows } from "../../../src/events/index.ts";
import { createIds, seededRandom, silentLog } from "../../../src/kernel/index.ts";
import type { Operation } from "../../../src/router/index.ts";
import { noteSound } from "../../../src/sync/artifact-operations.ts";
import { createArtifactStore } from "../../../src/sync/artifact-store.ts";
import { confirmCopies, noteCopies } from "../../../src/sync/copies/copy-operations.ts";
import type { Cleaning, DiskMeasure } from "../../../src/sync/disk-space.ts";
import { createBackups } from "../../../src/sync/index.ts";
import { diskSpaceLimits, orphanLimits } from "../../../src/sync/limits.ts";
import { placeOrders } from "../../../src/sync/orders/order-operations.ts";
import { createSyncServices, type SyncUnitServices } from "../../../src/sync/services.ts";
import { sweepPolicy } from "../../../src/sync/sweep.ts";
import { autoSync } from "../../../src/sync/units/auto-sync/auto-sync.unit.ts";
import { backupDaemon } from "../../../src/sync/units/backup/backup.unit.ts";
import { cacheOrchestrator } from "../../../src/sync/units/cache-orchestrator/cache-orchestrator.unit.ts";
import { diskSpaceManager } from "../../../src/sync/units/disk-space-manager/disk-space-manager.unit.ts";
import { modelDistributionDaemon } from "../../../src/sync/units/model-distribution/model-distribution.unit.ts";
import { orphanDetection } from "../../../src/sync/units/orphan-detection/orphan-detection.unit.ts";
import { replicationDaemon } from "../../../src/sync/units/replication/replication.unit.ts";
import { syncRouter } from "../../../src/sync/units/sync-router/sync-router.unit.ts";
import { trainingActivity } from "../../../src/sync/units/training-activity/training-activity.unit.ts";
import { createStructureReader } from "../../../src/workloads/arena/index.ts";
import { unitWorld } from "../../fixtures/unit-world.ts";
import { PATIENT } from "../../support/patience.ts";
import { CONFIG, gamesFile } from "../../support/played-games.ts";
import { entryOf, oneNode, sha256Of } from "../sync/sync-world.ts";
import { type Scene, type ShownTypes, supervised, toldIn } from "./scene.ts";

const GAMES = sha256Of("games");
const BEST = sha256Of("best");
const MODEL = sha256Of("model");
const SAMPLES = sha256Of("samples");
const NODES = ["a", "b", "c"];
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface Given {
  readonly units: (services: SyncUnitServices) => readonly Unit[];
  readonly more?: Partial<Parameters<typeof createSyncServices>[0]>;
}

/** Home and three nodes that are there. Home has all files; `a` has the first games. */
async function world({ units, more = {} }: Given) {
  const w = unitWorld(builtinRows);
  const root = mkdtempSync(join(tmpdir(), "ringrift-types-"));
  const watched = join(root, "watched");
  mkdirSync(watched);
  const files = createArtifactStore({ folder: join(root, "artifacts"), clock: w.clock });
  // A thread reads files of games: it starts where some are to be read.
  let reading: ReturnType<typeof createStructureReader> | undefined;
  const structures = () => {
    reading ??= createStructureReader();
    return reading;
  };
  const away = new Set<string>();
  const [home] = oneNode.nodes();
  const nodes = () =>
    ["n1", ...NODES].map((node_id) => ({
      ...home!,
      ...{ node_id, name: node_id, incarnation: 1, isThere: !away.has(node_id) },
      kinds: node_id === "c" ? ["training"] : ["selfplay"],
    }));
  const services = createSyncServices({
    ...{ ...w, files, nodeId: "n1", log: silentLog(), ...oneNode, nodes },
    orphans: { folders: [{ path: watched, layout: "any" }], inResults: async () => [] },
    readStructure: (...file) => structures().read(...file),
    readSegments: (...file) => structures().segments(...file),
    ...more,
  });
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const change: Operation[] = [];
  const joined = services.catalog.join({ rows: { apply: (operation) => void change.push(operation) } });
  const all = [GAMES, BEST, MODEL, SAMPLES];
  joined.record([
    entryOf("games"),
    entryOf("best", { config_key: "othello6_2p", work_id: "w2" }),
    entryOf("model", { kind: "model", games: 0, work_id: "w3" }),
    entryOf("samples", { kind: "samples", games: 0, work_id: null }),
  ]);
  joined.accept(all);
  joined.pin("window:hex8_2p", [SAMPLES]);
  await commit(
    ...change,
    noteSound({ sha256s: all, at: 1 }),
    ...NODES.map((node_id) => confirmCopies({ node_id, incarnation: 1, upto: 0, present: [], at: 1 })),
    noteCopies({ node_id: "n1", sha256s: all, by: "n1", at: 1 }),
    noteCopies({ node_id: "a", sha256s: [GAMES], by: "a", at: 1 }),
  );
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  /** What a node is told when it speaks. */
  const speak = (node_id: string, drop: readonly string[] = []) =>
    w.driven(services.desk.exchange({ node_id, incarnation: 1, held: [], gone: [], drop, orders: [], storage }));
  for (const node_id of NODES) await speak(node_id);
  const manager = await supervised(w, units(services.units));
  const publish = (type: string, payload: object) =>
    w.driven(w.router.publish(type as never, payload as never, { source: "test" }));
  return {
    ...w,
    manager,
    services,
    watched,
    away,
    commit,
    speak,
    publish,
    seqOf: (sha256: string) => services.catalog.get(sha256)!.seq,
    /** The files that nodes are asked to fetch. */
    orders: () =>
      w.store
        .read<{ node_id: string; sha256: string }>(
          "SELECT o.node_id, a.sha256 FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq WHERE o.action = 'fetch'",
        )
        .map(({ node_id, sha256 }) => `${node_id} ${sha256}`),
    async close() {
      services.close();
      await files.close();
      await reading?.close();
      await w.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
type World = Awaited<ReturnType<typeof world>>;

const placed = (w: World, node_id: string, sha256: string) =>
  w.commit(
    placeOrders({
      ...{ sync_id: "s", at: w.clock.now() },
      orders: [
        { node_id, seq: w.seqOf(sha256), action: "fetch", urgency: 1, bytes: 5, max_rate: null, reason: "sync" },
      ],
    }),
  );

/** The transfers of this node; who was called to ask for its orders is seen. */
async function transfers(more: Partial<SyncUnitServices> = {}) {
  const woken: string[] = [];
  const wake = (node: string) => void woken.push(node);
  const w = await world({ units: (services) => [autoSync({ ...services, wake, ...more })] });
  return { ...w, woken };
}

async function gamesThatCame(type: DaemonType): Promise<Scene> {
  const isRented = () => type === "EPHEMERAL_SYNC";
  const w = await transfers({ isRented });
  return {
    ...w,
    before: () => w.services.units.news.noteArrived({ sha256: GAMES, games: 20, configKey: "hex8_2p", from: "a" }),
    live: () => w.pass(15_000),
    seen: toldIn(w, ["GAME_SYNCED"], "games", "node_id", "ephemeral"),
    shows: [`GAME_SYNCED 20 n1 ${isRented()}`],
  };
}

async function nodeThatIsAsked(): Promise<Scene> {
  const w = await transfers();
  const about = { node_id: "b", target_node_ids: ["b"], sync_id: "s", data_type: "games", reason: "test" };
  return {
    ...w,
    before: () => w.publish("SYNC_REQUEST", about),
    live: () => w.pass(5_000),
    seen: () => w.woken,
    shows: ["b"],
  };
}

async function transfersThatWait(): Promise<Scene> {
  const w = await transfers();
  return {
    ...w,
    async before() {
      for (const node of NODES) await placed(w, node, BEST);
    },
    live: () => w.pass(MINUTE),
    seen: () => [...new Set(w.woken)].sort(),
    shows: NODES,
  };
}

async function bestGamesFirst(): Promise<Scene> {
  const w = await transfers();
  const scored = (config_key: string, quality_score: number) =>
    w.publish("HIGH_QUALITY_DATA_AVAILABLE", { config_key, quality_score, games: 10 });
  return {
    ...w,
    async before() {
      for (const sha256 of [GAMES, BEST]) await placed(w, "b", sha256);
      await scored("hex8_2p", 0.8);
      await scored("othello6_2p", 0.95);
    },
    live: () => w.pass(30_000),
    seen: () =>
      [GAMES, BEST].map(
        (sha256) =>
          w.store.read<{ quality: number }>("SELECT quality FROM sync_orders WHERE seq = ?", w.seqOf(sha256))[0]!
            .quality,
      ),
    idle: [0, 0],
    shows: [800, 950],
  };
}

/** A node that wants to let go of the last copy but that of home. */
async function copyInTheWay(): Promise<Scene> {
  const w = await transfers();
  return {
    ...w,
    async live() {
      await w.speak("a", [GAMES]);
      await w.pass(20_000);
    },
    seen: () => w.orders().map((order) => order.slice(2)),
    shows: [GAMES],
  };
}

async function gamesOfAnArchive(): Promise<Scene> {
  const { bytes, hash } = gamesFile(9, 4);
  const w = await world({
    units: (services) => [autoSync(services), orphanDetection(services, { ...orphanLimits, everyMs: 1_000 })],
  });
  const seen = () => w.services.catalog.get(hash)?.config_key ?? "not there";
  return {
    ...w,
    before() {
      const path = join(w.watched, "old-games.arena");
      writeFileSync(path, bytes);
      const old = (w.clock.now() - DAY) / 1_000;
      utimesSync(path, old, old);
    },
    // Files are read on threads, which virtual time does not wait for.
    live: (isStarted) =>
      vi.waitFor(
        async () => {
          await w.pass(15_000);
          if (isStarted) expect(seen()).toBe(CONFIG);
        },
        { ...PATIENT, interval: 5 },
      ),
    seen,
    idle: "not there",
    shows: CONFIG,
  };
}

async function nodesThatKeepInS3(): Promise<Scene> {
  const w = await transfers();
  let told: readonly string[] = [];
  return {
    ...w,
    async live() {
      await w.pass(20_000);
      told = (await w.speak("a")).policies;
    },
    seen: () => told,
    shows: ["S3_NODE_SYNC"],
  };
}

async function allPolicies(): Promise<Scene> {
  const w = await transfers();
  let told: readonly string[] = [];
  return {
    ...w,
    before: () => placed(w, "b", BEST),
    async live() {
      told = (await w.speak("a", [GAMES])).policies;
      await w.pass(30_000);
      told = (await w.speak("a", [GAMES])).policies;
    },
    seen: () => ({ told, called: w.woken.includes("b"), pushed: w.orders().some((order) => order.endsWith(GAMES)) }),
    idle: { told: [], called: false, pushed: false },
    shows: {
      told: ["EPHEMERAL_SYNC", "GOSSIP_SYNC", "HIGH_QUALITY_SYNC", "OWC_IMPORT", "S3_NODE_SYNC", "SYNC_PUSH"],
      called: true,
      pushed: true,
    },
  };
}

/** Files on their way to nodes: a champion for those who play, whatever somebody lacks, and a training file for who trains. */
async function deliveries(type: DaemonType): Promise<Scene> {
  const isChampion = type === "MODEL_DISTRIBUTION";
  const spread = {
    champions: () => (isChampion ? [{ configKey: "hex8_2p", model: MODEL, since: 1 }] : []),
    players: () => ["n1", "a"],
    trainers: () => ["c"],
    trials: { put: async () => "w9", look: () => ({ state: "open" }) as const, takeBack: async () => {} },
  };
  const w = await world({ units: (services) => [modelDistributionDaemon(services)], more: { spread } });
  const about = { config_key: "hex8_2p" };
  return {
    ...w,
    async before() {
      if (type === "MODEL_SYNC")
        await w.publish("MODEL_SYNC_REQUESTED", { ...about, model_id: MODEL, node_id: "b", reason: "it is damaged" });
      if (type === "NPZ_DISTRIBUTION")
        await w.publish("NPZ_EXPORT_COMPLETE", {
          ...about,
          job_id: "j",
          artifact_hash: SAMPLES,
          samples: 10,
          games: 1,
        });
    },
    live: () => w.pass(10_000),
    seen: () => w.orders(),
    shows: [isChampion ? `a ${MODEL}` : type === "MODEL_SYNC" ? `b ${MODEL}` : `c ${SAMPLES}`],
  };
}

/** The node that trains lacks a file of the window; it gets it before a run. */
async function windowOfWhoTrains(): Promise<Scene> {
  const w = await world({ units: (services) => [syncRouter(services), trainingActivity(services)] });
  return {
    ...w,
    live: () => w.pass(15_000),
    seen: () => ({ told: toldIn(w, ["DATA_STALE"], "node_id")(), orders: w.orders() }),
    idle: { told: [], orders: [] },
    shows: { told: ["DATA_STALE c"], orders: [`c ${SAMPLES}`] },
  };
}

async function tooFewCopies(): Promise<Scene> {
  const w = await world({ units: (services) => [replicationDaemon(services)] });
  return {
    ...w,
    before: () => w.away.add("a"),
    live: () => w.pass(40 * MINUTE),
    seen: toldIn(w, ["REPLICATION_ALERT"], "severity"),
    shows: ["REPLICATION_ALERT warning"],
  };
}

async function missingCopy(): Promise<Scene> {
  const w = await world({ units: (services) => [replicationDaemon(services)] });
  return {
    ...w,
    before: () => w.away.add("a"),
    live: () => w.pass(MINUTE),
    seen: () => w.orders().filter((order) => order.endsWith(GAMES)).length,
    idle: 0,
    shows: 1,
  };
}

async function gamesThatNobodyKnows(): Promise<Scene> {
  const w = await world({ units: (services) => [orphanDetection(services, { ...orphanLimits, everyMs: 1_000 })] });
  const seen = () => toldIn(w, ["ORPHAN_GAMES_DETECTED"], "games")();
  return {
    ...w,
    before() {
      const path = join(w.watched, "found.arena");
      writeFileSync(path, gamesFile(7, 1).bytes);
      const old = (w.clock.now() - DAY) / 1_000;
      utimesSync(path, old, old);
    },
    live: (isStarted) =>
      vi.waitFor(
        async () => {
          await w.pass(1_000);
          if (isStarted) expect(seen()).not.toEqual([]);
        },
        { ...PATIENT, interval: 5 },
      ),
    seen,
    shows: ["ORPHAN_GAMES_DETECTED 7"],
  };
}

async function backups(type: DaemonType): Promise<Scene> {
  const isS3 = type === "S3_BACKUP";
  const w = unitWorld(builtinRows);
  const place = isS3
    ? { name: "bucket", transport: "s3", bucket: "games" }
    : { name: "drive", transport: "folder", path: "/backup", disk: "backup" };
  const report = {
    ...{ backup_id: "b1", place: place.name, files: 3, bytes: 30, copied_files: 3, copied_bytes: 30 },
    ...{ sealed: false, missing: [], models: [], backups: [] },
  };
  let isAsked = false;
  const made = createBackups({
    ...{ store: w.store, clock: w.clock, ids: createIds(w.clock, seededRandom(3)), places: [place] as never },
    ...{ secret: undefined, retention: { keep: 1, keepMs: 0 }, scratch: "" },
    folder: { nodeId: "n1", version: "", dataDir: "", database: "", artifacts: "", otherFiles: [] },
    run: (async () => {
      isAsked = true;
      return report;
    }) as never,
    drill: async () => ({ backup_id: "b1", files: 3, bytes: 30, books_equal: true }),
  });
  const pace = { everyMs: 120 * MINUTE, drillEveryMs: 1_000 * DAY };
  const services = { backups: made, backupPace: pace, nodeId: "n1" } as never;
  const manager = await supervised(w, [backupDaemon(services)]);
  await w.pass(2 * MINUTE);
  const told = toldIn(w, ["S3_BACKUP_COMPLETED", "DATA_BACKUP_COMPLETED"], isS3 ? "bucket" : "destination");
  const first = told().length;
  isAsked = false;
  return {
    ...w,
    manager,
    live: () => w.pass(150 * MINUTE),
    seen: () => ({ isAsked, told: told().slice(first, first + 1) }),
    idle: { isAsked: false, told: [] },
    shows: { isAsked: true, told: [isS3 ? "S3_BACKUP_COMPLETED games" : "DATA_BACKUP_COMPLETED drive"] },
  };
}

async function championThatWasRolledBack(): Promise<Scene> {
  const w = await world({ units: (services) => [cacheOrchestrator(services)] });
  return {
    ...w,
    async before() {
      await w.commit(noteCopies({ node_id: "b", sha256s: [MODEL], by: "b", at: w.clock.now() }));
      await w.publish("PROMOTION_ROLLED_BACK", {
        ...{ config_key: "hex8_2p", model_id: MODEL, restored_model_id: sha256Of("good") },
        ...{ artifact_hash: sha256Of("good"), reason: "it lost" },
      });
    },
    live: () => w.pass(1_000),
    seen: toldIn(w, ["CACHE_INVALIDATED"], "node_ids"),
    shows: ["CACHE_INVALIDATED b"],
  };
}

/** What was measured elsewhere says that the disk is full: whoever deletes does so at once. */
async function fullDisk(): Promise<Scene> {
  const w = unitWorld(builtinRows);
  const asked: Cleaning[] = [];
  const state = { disk: undefined as DiskMeasure | undefined };
  const unit = diskSpaceManager(
    {
      ...{ nodeId: "n1", graces: sweepPolicy() },
      space: {
        measured: () => state.disk,
        async clean(how) {
          asked.push(how);
          return { sha256s: [GAMES], bytes: 500, fromQuarantine: 0 };
        },
        tidyLogs: () => false,
      },
    },
    diskSpaceLimits,
  );
  const told: unknown[] = [];
  const manager = await supervised(w, [unit]);
  await w.pass(1_000);
  asked.splice(0);
  w.router.subscribe("DISK_CLEANUP_TRIGGERED", ({ payload }) => void told.push(payload.bytes_freed));
  return {
    ...w,
    manager,
    before() {
      state.disk = { level: "critical", usage: 0.97, freeBytes: 3e9, fullInMs: null };
      const low = { node_id: "n1", level: "critical", usage: 0.97, free_gb: 3, threshold: 0.95 } as const;
      return w.router.publish("DISK_SPACE_LOW", low);
    },
    live: () => w.pass(6_000),
    seen: () => ({ level: asked[0]?.level, freed: told[0] }),
    idle: { level: undefined, freed: undefined },
    shows: { level: "critical", freed: 500 },
  };
}

const TRANSFERS = "auto_sync";
const DELIVERY = "model_distribution_daemon";
const DISK = "disk_space_manager";

export const ofSync = {
  AUTO_SYNC: { unit: TRANSFERS, does: "tells games that came to this node", open: gamesThatCame },
  EPHEMERAL_SYNC: { unit: TRANSFERS, does: "tells games that came to a node that may vanish", open: gamesThatCame },
  SYNC_COORDINATOR: { unit: TRANSFERS, does: "calls a node for what it is asked to bring", open: nodeThatIsAsked },
  CLUSTER_DATA_SYNC: {
    unit: TRANSFERS,
    does: "calls whatever node is asked to bring something",
    open: nodeThatIsAsked,
  },
  GOSSIP_SYNC: {
    unit: TRANSFERS,
    does: "calls all nodes with waiting transfers, a few at a time",
    open: transfersThatWait,
  },
  HIGH_QUALITY_SYNC: { unit: TRANSFERS, does: "lets the best games go first", open: bestGamesFirst },
  SYNC_PUSH: { unit: TRANSFERS, does: "has another node fetch what one wants to let go", open: copyInTheWay },
  OWC_IMPORT: { unit: TRANSFERS, does: "takes games of an archive", open: gamesOfAnArchive },
  S3_NODE_SYNC: { unit: TRANSFERS, does: "has nodes bring what they hold to their S3 stores", open: nodesThatKeepInS3 },
  UNIFIED_DATA_PLANE: { unit: TRANSFERS, does: "switches all policies on", open: allPolicies },
  MODEL_DISTRIBUTION: { unit: DELIVERY, does: "brings a champion to who plays", open: deliveries },
  MODEL_SYNC: { unit: DELIVERY, does: "brings a model to the node that lacks it", open: deliveries },
  NPZ_DISTRIBUTION: { unit: DELIVERY, does: "brings a training file to who trains", open: deliveries },
  TRAINING_NODE_WATCHER: { unit: "training_activity", does: "tells what who trains lacks", open: windowOfWhoTrains },
  TRAINING_DATA_SYNC: { unit: "training_activity", does: "has data brought before a run", open: windowOfWhoTrains },
  REPLICATION_MONITOR: { unit: "replication_daemon", does: "counts copies, and calls a person", open: tooFewCopies },
  REPLICATION_REPAIR: { unit: "replication_daemon", does: "has a copy made that is missing", open: missingCopy },
  ORPHAN_DETECTION: {
    unit: "orphan_detection_daemon",
    does: "finds games that nobody knows",
    open: gamesThatNobodyKnows,
  },
  S3_BACKUP: { unit: "backup_daemon", does: "backs up into a bucket", open: backups },
  EXTERNAL_DRIVE_SYNC: { unit: "backup_daemon", does: "backs up onto a drive", open: backups },
  CACHE_COORDINATION: {
    unit: "cache_orchestrator",
    does: "calls in copies of a bad champion",
    open: championThatWasRolledBack,
  },
  DISK_SPACE_MANAGER: { unit: DISK, does: "frees files when the disk is full", open: fullDisk },
  COORDINATOR_DISK_MANAGER: { unit: DISK, does: "frees files of the coordinator by the same rules", open: fullDisk },
  DATA_CLEANUP: { unit: DISK, does: "is the one that deletes", open: fullDisk },
} satisfies ShownTypes;

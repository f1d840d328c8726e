/** The second phase of a start: each room builds what its units and the surface work with. */
import { join } from "node:path";
import { sqliteCare } from "../adapters/sqlite/care.ts";
import { fleetPower } from "../cluster/fleet/index.ts";
import {
  type ClusterServices,
  type ClusterWork,
  createClusterServices,
  LockStore,
  storedCoordinators,
} from "../cluster/index.ts";
import { DaemonManager, supervisionStore, watchMainLoop } from "../daemons/index.ts";
import { createIds, defined, type Guard, listeningTime, logPathOf } from "../kernel/index.ts";
import { createRatingEngine, pipelineDefaults, pipelineSnapshot, pipelineStandings } from "../pipeline/index.ts";
import type { EventRouter } from "../router/index.ts";
import { createSyncServices } from "../sync/index.ts";
import { createWorkServices, filesInResults, kindsWith, type WorkQueue } from "../work/index.ts";
import { CONFIG_KEYS, createStructureReader } from "../workloads/arena/index.ts";
import { backupPortsOf } from "./backup/ports.ts";
import { artifactStoreOf } from "./between-rooms/artifact-files.ts";
import { spreadPorts } from "./between-rooms/champion-trials.ts";
import { clusterWorkOf } from "./between-rooms/cluster-work.ts";
import { createFleet } from "./between-rooms/fleet.ts";
import { holdersIn } from "./between-rooms/holders.ts";
import { createHomeTransfers } from "./between-rooms/home-transfers.ts";
import { nodeDutiesOf } from "./between-rooms/node-duties.ts";
import { nodeSignsOf } from "./between-rooms/node-signs.ts";
import { orphanFolders } from "./between-rooms/orphan-folders.ts";
import { guardedBackups, guardedClaims, guardedFiles, guardedOrders, guardOf } from "./between-rooms/outside-acts.ts";
import { workersFor } from "./between-rooms/workers-for.ts";
import type { BootstrapOptions } from "./bootstrap-options.ts";
import { ticketKeyIn } from "./data-folder/ticket-key.ts";
import type { Ground } from "./ground.ts";
import { isOfOthers, judgeModels } from "./worker/judge-models.ts";
import { workloadFor, workloadList } from "./worker/workload-list.ts";

/** In the order of their strength: the one in the middle is the zero of the ladder. */
const ANCHORS = ["random", "mcts-100", "mcts-1000"] as const;

interface Surroundings {
  readonly components: ClusterServices["work"];
  readonly cause: ClusterWork["cause"];
}

export function createServices(
  ground: Ground,
  { components, cause }: Surroundings,
  { scrub, term }: Pick<BootstrapOptions, "scrub" | "term">,
  undo: AsyncDisposableStack,
) {
  const guard = guardOf(term?.cluster);
  const { settings, store, clock, random, log, logFile, version, databasePath } = ground;
  const { nodeId } = settings;
  const router = ground.router as unknown as EventRouter;
  const supervisor = new DaemonManager({
    clock,
    random,
    log,
    nodeId,
    pid: process.pid,
    store: supervisionStore(router),
    config: settings.daemons,
  });
  const mainLoop = watchMainLoop({
    clock,
    log,
    ...settings.watchdog,
    ...(logFile === undefined ? {} : { logFile: logPathOf(settings.dataDir) }),
    isSilent: ground.speaksInSentences,
  });
  undo.defer(() => mainLoop.stop());
  const listening = listeningTime(clock);
  undo.defer(() => listening.stop());
  const { listened } = listening;
  const cluster = createClusterServices({
    ...{ settings, store, clock, listened, random, log },
    catalog: router.catalog as never,
    version,
    work: components,
    signs: nodeSignsOf(() => work.queue),
    clusterWork: clusterWorkOf(() => work.queue, cause),
    duties: nodeDutiesOf(() => ({ queue: work.queue, desk: sync.desk })),
    ownWork: () => ownWorkOf(work.queue, nodeId),
    power: fleetPower(() => fleet),
    ...{ leadership: term?.cluster, guard },
  });
  undo.defer(() => cluster.close());
  const locks = new LockStore({ store, router, clock, listened, nodeId });
  undo.defer(() => locks.close());
  const workloads = workloadList(settings.configFile, settings.worker.graceMs / 1_000);
  const structures = createStructureReader();
  undo.defer(() => structures.close());
  const { faultOf } = structures;
  const files = guardedFiles(guard, artifactStoreOf(settings, clock, faultOf));
  undo.defer(() => files.close());
  const work = workWith(guard, {
    ...{ router, store, clock, listened, random, settings: settings.work },
    kinds: kindsWith(workloads.flatMap(({ declaration }) => declaration.kinds)),
    barred: (node) => cluster.availability.barred(node),
    limited: (node) => cluster.availability.limited(node),
    excludedKinds: (node) => cluster.availability.excludedKinds(node),
    withSameToken: (node) => cluster.nodes.withSameToken(node),
    isStored: async (sha256) => (await files.stat(sha256)).size !== null,
    judgeFile: judgeModels({ workloads, structures, pathOf: files.pathOf }),
  });
  const workersOf = (kind: string) => workersFor(kind, work.queue, cluster.availability);
  const ticketKey = ticketKeyIn(settings.dataDir);
  const home = createHomeTransfers({
    settings,
    ticketKey,
    files,
    log,
    onRefused: (refusal) => cluster.refusals.note(refusal),
  });
  undo.defer(() => home.close());
  const backups = backupPortsOf(settings, version, databasePath);
  const sync = createSyncServices({
    orphans: {
      folders: orphanFolders(settings, { path: join(settings.dataDir, "artifacts"), layout: "prefixes" }),
      inResults: (sha256s) => filesInResults(store, sha256s),
    },
    readStructure: structures.read,
    readSegments: structures.segments,
    router,
    store,
    files,
    clock,
    log,
    nodeId,
    scrub,
    policy: settings.artifacts,
    copies: settings.artifacts.copies,
    nodes: () => holdersIn(cluster.nodes, cluster.availability, settings.worker.tags, work.queue.workers.list()),
    ids: createIds(clock, random),
    findNode: (name) => cluster.nodes.find(name).node_id,
    spread: spreadPorts({ store, queue: work.queue, workersFor: workersOf }),
    disk: { measured: cluster.disk.measured, tidyLogs: () => logFile?.tidy() ?? false },
    backup: { ...backups, run: guardedBackups(guard, clock, backups.run) },
    ...defined({
      coordinators: term === undefined ? undefined : () => storedCoordinators(store).map(({ name }) => name),
    }),
    between: {
      ticketKey,
      home: home.home,
      heard: home.heard,
      onRefused: (by, refusal) => noteRefusal(cluster, by, refusal),
    },
  });
  undo.defer(() => sync.backups.close());
  const { fleet, door } = createFleet({ ...ground, cluster, work, guard, aloneOn: sync.aloneOn });
  undo.defer(() => fleet.close());
  const engine = createRatingEngine();
  undo.defer(() => engine.close());
  undo.defer(() => sync.close());
  const looked = { store, queue: work.queue, catalog: sync.catalog };
  return {
    router,
    supervisor,
    cluster,
    locks,
    fleet,
    /** What nodes are told to join with, once the surface knows. */
    door,
    workloads,
    work,
    files,
    catalog: sync.catalog,
    sync: sync.units,
    backups: sync.backups,
    facade: sync.facade,
    imports: sync.imports,
    library: sync.console,
    copies: guardedOrders(guard, sync.desk),
    memberFiles: sync.members,
    verify: sync.verify,
    disk: sync.disk,
    pipeline: {
      ...sync,
      queue: work.queue,
      freeSlots: () => work.desk.freeSlots,
      store,
      nodeId,
      engine,
      anchors: (configKey: string) =>
        workloadFor(workloads, "evaluation", configKey)?.baselines ?? (CONFIG_KEYS.includes(configKey) ? ANCHORS : []),
      isOfOthers: isOfOthers(workloads),
      workersFor: workersOf,
      settings: {
        ...pipelineDefaults,
        allowPendingGate: settings.loop.allowPendingGate,
        oldChampionMs: settings.loop.oldChampionMs,
      },
    },
    daemons: {
      router,
      store,
      clock,
      random,
      supervisor,
      mainLoop,
      database: sqliteCare(databasePath),
      logFile,
      maintenance: { ...settings.maintenance, ...defined({ everyMs: scrub?.everyMs }) },
      chores: sync.chores,
    },
    /** The pipeline, as it stands on disk. */
    snapshot: (only?: string) => pipelineSnapshot(looked, clock.now(), only),
    standings: () => pipelineStandings(looked, clock.now()),
  };
}

/** The queue, and the desk that hands its jobs out. */
function workWith(guard: Guard | undefined, around: Parameters<typeof createWorkServices>[0]) {
  const work = createWorkServices(around);
  return { ...work, desk: guardedClaims(guard, work.desk) };
}

/** Somebody was turned away by a node that serves files. */
const noteRefusal = (
  { refusals, nodes }: Pick<ClusterServices, "refusals" | "nodes">,
  by: string,
  { code, node_id, from }: { readonly code: string; readonly node_id: string | null; readonly from: string },
): void =>
  refusals.note({
    code,
    from: `${from} by ${nodes.nameOf(by)}`,
    nodeId: node_id === null ? undefined : nodes.nameOf(node_id),
  });

/** What the worker beside this process does; undefined where none asks for jobs. */
function ownWorkOf(queue: WorkQueue, nodeId: string) {
  const own = queue.workers.list().find(({ node_id }) => node_id === nodeId);
  return own && { running: queue.held(nodeId).length, slots: own.all };
}

export type AppServices = ReturnType<typeof createServices>;

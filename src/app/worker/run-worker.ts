/** A worker put together: the line to its main process, the programs it runs, its folder, and its signs of life. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { WORKER_PID_FILE } from "../../cluster/index.ts";
import {
  type Clock,
  createFileHasher,
  createIds,
  defined,
  type Edges,
  type Environment,
  messageOf,
  OperatingError,
} from "../../kernel/index.ts";
import {
  artifactsOver,
  copiesOver,
  type NodeAbout,
  type NodeLink,
  openLink,
  queueOver,
  replicaOver,
  requireEndpoint,
} from "../../surfaces/index.ts";
import { type Cleaning, createTransferNews, storedFiles } from "../../sync/index.ts";
import {
  type Capacity,
  createAdmission,
  createWorker,
  openSpool,
  type SpoolEntry,
  type Worker,
  type WorkerTiming,
  workerTimingDefaults,
} from "../../work/worker/index.ts";
import { createStructureReader } from "../../workloads/arena/index.ts";
import { createGuardian, createWorkloadHasher } from "../../workloads/process/index.ts";
import { isRented } from "../between-rooms/holders.ts";
import { orphanFolders } from "../between-rooms/orphan-folders.ts";
import { guardDataDir } from "../data-folder/folder-lock.ts";
import type { Settings } from "../settings.ts";
import { bringOverLine } from "./bring-over-line.ts";
import { diskOf, freeBytes } from "./disk-room.ts";
import { findGpus, type Gpu, offeredGpus } from "./gpus.ts";
import { type Inputs, keepInputs } from "./inputs.ts";
import { noticeMisfits } from "./misfits.ts";
import { type CoordinatorPlace, keepBeating } from "./node-beats.ts";
import { keepCopies } from "./node-copies.ts";
import { startNodeEvents } from "./node-events.ts";
import {
  joinedNode,
  keepJoined,
  type NodeFile,
  nextIncarnation,
  nodeKeyIn,
  placesOf,
  trustOf,
} from "./node-identity.ts";
import type { LeaveLimits } from "./node-leaving.ts";
import { keepReplica } from "./node-replica.ts";
import { fillStores } from "./node-stores.ts";
import type { NodeSwim } from "./node-swim.ts";
import { startNodeTransfers } from "./node-transfers.ts";
import { tellOwnFigures } from "./own-figures.ts";
import { createProcessExecutor } from "./process-executor.ts";
import { workloadList } from "./workload-list.ts";

export interface WorkerWorld extends Edges {
  readonly settings: Settings;
  readonly env: Environment;
  readonly version: string;
  /** Begins a new log file if this one is full. */
  readonly tidyLogs?: () => boolean;
}

type WorkerSettings = Settings["worker"];

const offered = ({ cpus, memoryGb, tags }: WorkerSettings, gpus: readonly Gpu[]) => ({
  cpu: cpus,
  gpu: gpus.length,
  memory_gb: memoryGb,
  // A job may get any of them.
  gpu_memory_gb: gpus.length === 0 ? 0 : Math.min(...gpus.map((gpu) => gpu.memoryGb)),
  tags,
});

/** What the settings of a worker come to, on a machine with these accelerators. */
export const capacityOf = (worker: WorkerSettings, gpus: readonly Gpu[] = offeredGpus(worker, [], {})): Capacity => ({
  ...offered(worker, gpus),
  slots: worker.slots,
  diskReserveBytes: worker.diskReserveBytes,
  gpuIds: gpus.map(({ id }) => id),
});

/** Of the notice that a rented machine has, jobs get this share to end, and results the same to be sent. */
const NOTICE_SHARE = 0.4;

export const timingOf = (worker: WorkerSettings): WorkerTiming => {
  const { beatMs, claimWaitSeconds: waitSeconds, graceMs, noticeMs, tags } = worker;
  const all = { ...workerTimingDefaults, beatMs, waitSeconds, graceMs };
  if (!isRented(tags)) return all;
  return { ...all, graceMs: Math.min(graceMs, NOTICE_SHARE * noticeMs), flushMs: NOTICE_SHARE * noticeMs };
};

/** How long a node that ends tries to send home what it alone has. */
const leaveLimitsOf = ({ noticeMs, tags }: WorkerSettings): LeaveLimits => {
  const limitMs = noticeMs * (1 - NOTICE_SHARE / 2);
  return { limitMs, unansweredMs: isRented(tags) ? limitMs : Math.min(limitMs, UNANSWERED_MS) };
};
const UNANSWERED_MS = 1_000;

/** What the main process is told of this node when it joins, and with its first sign of life. */
export const aboutNode = (worker: WorkerSettings, gpus: readonly Gpu[]): NodeAbout => ({
  ...offered(worker, gpus),
  hostname: hostname(),
  platform: `${process.platform}-${process.arch}`,
});

/** The line of a node that has joined; `life` is the one that it signs for. */
export function lineOfNode(
  { settings, clock }: WorkerWorld,
  node: NodeFile,
  life: () => { readonly incarnation: number; readonly counter?: number },
) {
  const key = nodeKeyIn(settings.dataDir);
  if (key.nodeId !== node.node_id)
    throw OperatingError.internal(
      "NODE_KEY_INVALID",
      "the key of this folder is not the one that the node joined with",
      {
        hint: "Join again with a token.",
      },
    );
  const { incarnation, ...counted } = life();
  const target = { url: new URL(node.url), trust: trustOf(node) };
  const others = placesOf(node, node.coordinators ?? []).filter(({ url }) => url.origin !== target.url.origin);
  const link = openLink({ target, others, clock, identity: { key, incarnation, ...counted } });
  return { link, nodeId: node.node_id, main: node.url, joined: { node, key, incarnation } };
}

/** The node that this folder has joined as; else beside the main process of the folder, as its own node. */
function lineOf(world: WorkerWorld) {
  const { dataDir } = world.settings;
  const node = joinedNode(dataDir);
  if (node !== undefined) return lineOfNode(world, node, () => ({ incarnation: nextIncarnation(dataDir) }));
  const { node_id } = requireEndpoint(dataDir);
  const link = openLink({ target: { socketPath: () => requireEndpoint(dataDir).socket_path }, clock: world.clock });
  return { link, nodeId: node_id, main: dataDir, joined: undefined };
}

/** The accelerators of this machine that jobs may have. */
export const gpusOf = async (worker: WorkerSettings, env: Environment): Promise<Gpu[]> =>
  offeredGpus(worker, worker.detectGpus ? await findGpus() : [], env);

/** How much of its quota a node fills while its disk is short. */
const CACHE_SHARES = { none: 1, high: 0.5, critical: 0 };

const QUARANTINE_AT_ONCE = 100;

/** What frees the files of a node of its own: its cache, what was set aside, and its logs. */
const spaceOf = ({ tidyLogs = () => false, clock }: WorkerWorld, inputs: Inputs) => ({
  tidyLogs,
  async clean({ level, quarantineMs }: Pick<Cleaning, "quarantineMs"> & { readonly level: keyof typeof CACHE_SHARES }) {
    await inputs.makeRoom(CACHE_SHARES[level]);
    const { emptyQuarantine } = storedFiles(dirname(inputs.folder));
    const fromQuarantine = await emptyQuarantine(clock.now() - quarantineMs, QUARANTINE_AT_ONCE);
    return { ...inputs.takeFreed(), fromQuarantine };
  },
});

/** Knows all coordinators, also after a restart; they change seldom. */
function coordinatorKeeper(dataDir: string, node: NodeFile, link: NodeLink) {
  let kept = JSON.stringify(node.coordinators ?? []);
  return (all: readonly CoordinatorPlace[]): void => {
    const now = JSON.stringify(all);
    if (now === kept) return;
    kept = now;
    link.know(placesOf(node, all));
    keepJoined(dataDir, { ...node, coordinators: [...all] });
  };
}

type Joined = NonNullable<ReturnType<typeof lineOf>["joined"]>;

/** Where nodes look after each other. A node that cannot take part works all the same. */
async function swimOf(world: WorkerWorld, joined: Joined): Promise<NodeSwim | undefined> {
  if (!world.settings.p2p.swimEnabled) return undefined;
  try {
    const { startNodeSwim } = await import("./node-swim.ts");
    return await startNodeSwim({ ...world, ...joined });
  } catch (thrown) {
    world.log.error("this node takes no probes of other nodes", { error: messageOf(thrown) });
    return undefined;
  }
}

/** What a node of its own has beside its worker: its events, and its signs of life. */
async function startJoined(
  world: WorkerWorld,
  { link, nodeId, incarnation, node, key }: Joined & { readonly link: NodeLink; readonly nodeId: string },
  worker: Worker,
  gpus: readonly Gpu[],
  inputs: Inputs,
  { news, hurry, port, packed, expectsFiles }: Awaited<ReturnType<typeof startCopies>>,
  misfits: () => readonly string[],
) {
  const ownWork = () => ({ running: worker.status().running.length, slots: world.settings.worker.slots });
  /** Known once it beats; until then nobody is missed. */
  let failures = (): number => 0;
  const swim = await swimOf(world, { node, key, incarnation });
  const line = {
    reach() {
      const { known, reached } = swim?.report() ?? { known: 0, reached: 0 };
      return { peers: (failures() === 0 ? 1 : 0) + reached, expected: 1 + known };
    },
    failures: () => failures(),
    reopen: () => link.reopen(),
  };
  const events = await startNodeEvents({
    ...world,
    link,
    nodeId,
    line,
    news,
    ownWork,
    misfits,
    orphans: {
      folders: orphanFolders(world.settings, { path: inputs.folder, layout: "flat" }),
      knows: port.known,
      expectsFiles,
      packed,
    },
    space: spaceOf(world, inputs),
  });
  const about = aboutNode(world.settings.worker, gpus);
  const restart = Promise.withResolvers<{ readonly act_id: string; readonly reason: string }>();
  const beats = keepBeating({
    ...world,
    link,
    nodeId,
    incarnation,
    worker,
    outbox: events.waiting,
    disk: diskOf(world.settings),
    about,
    onAsked: hurry,
    onRestart: restart.resolve,
    onCoordinators: coordinatorKeeper(world.settings.dataDir, node, link),
    onIdleAsked: events.tellIdle,
    swim,
    deadManMs: world.settings.worker.deadManMs,
  });
  const heard = keepReplica({ ...world, dataDir: world.settings.dataDir, url: node.url, port: replicaOver(link) });
  failures = beats.failures;
  return {
    broken: beats.broken,
    restart: restart.promise,
    async leave(): Promise<void> {
      await events.finish();
      await beats.leave("the worker ends in order");
    },
    async close(): Promise<void> {
      await heard.stop();
      await beats.stop();
      await swim?.close();
      await events.close();
    },
  };
}

/** What lies on a node of its own are copies, and it has its own ways to fetch them; beside a main process they lie on its node anyway. */
async function startCopies(
  { settings, clock, random, log }: WorkerWorld,
  link: NodeLink,
  { node, key, incarnation }: Joined,
  folder: string,
  spool: Awaited<ReturnType<typeof openSpool>>,
) {
  const port = copiesOver(link, node.node_id, incarnation);
  const overLine = bringOverLine(link, folder, clock);
  const news = createTransferNews();
  const structures = createStructureReader();
  const { faultsOf } = structures;
  const ports = { settings, link, node, key, folder, port, overLine, news, faultsOf, clock, random, log };
  const transfers = await startNodeTransfers(ports);
  const { packed } = transfers;
  const hasher = createFileHasher((message, code) =>
    OperatingError.internal("ARTIFACT_UNREADABLE", `a copy could not be read: ${message}`, { details: { code } }),
  );
  const { watch, newest, start, hurry, leave, stop, expectsFiles } = keepCopies({
    port,
    folder,
    packed,
    artifacts: artifactsOver(link),
    transfers,
    stores: fillStores({ folder, packed, stores: transfers.stores, transfers, log }),
    atOnce: transfers.atOnce,
    hasher,
    freeBytes: freeBytes(folder),
    waiting: seldom(clock, async () => waitingIn((await spool.read()).entries)),
    clock,
    random,
    log,
  });
  return {
    watch,
    newest,
    start,
    hurry,
    leave,
    news,
    port,
    expectsFiles,
    packed,
    bring: transfers.bring,
    async close(): Promise<void> {
      await stop();
      await transfers.close();
      await structures.close();
      await hasher.close();
    },
  };
}

const SPOOL_EVERY_MS = 30_000;

/** The last answer, unless it is old. */
function seldom<T>(clock: Clock, ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly answer: Promise<T> } | undefined;
  return () => {
    if (last === undefined || clock.monotonic() - last.atMs > SPOOL_EVERY_MS)
      last = { atMs: clock.monotonic(), answer: ask() };
    return last.answer;
  };
}

/** Files of finished jobs that the main process does not have yet. */
function waitingIn(entries: readonly SpoolEntry[]) {
  const all = entries.flatMap((entry) => (entry.say === "complete" ? entry.files : []));
  const since = entries.filter(({ say }) => say === "complete").map(({ finished_at }) => finished_at);
  return {
    files: all.length,
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    oldest_at: since.length === 0 ? null : Math.min(...since),
  };
}

export async function runWorker(world: WorkerWorld) {
  const { settings, clock, random, log, env } = world;
  const folder = join(settings.dataDir, "worker");
  const timing = timingOf(settings.worker);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const undo = new AsyncDisposableStack();
  try {
    // One worker for each folder, so that one controller knows all that runs here.
    const guard = guardDataDir(folder);
    undo.defer(() => guard.release());
    // Whoever measures this machine knows by it that we are no stranger.
    const pidFile = join(settings.dataDir, WORKER_PID_FILE);
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
    undo.defer(() => rmSync(pidFile, { force: true }));
    const { link, nodeId, main, joined: own } = lineOf(world);
    undo.defer(() => link.close());
    const workloads = workloadList(settings.configFile, timing.graceMs / 1_000);
    const guardian = createGuardian({ ids: createIds(clock, random), log });
    undo.defer(() => guardian.close());
    const hasher = createWorkloadHasher();
    undo.defer(() => hasher.close());
    const spool = await openSpool({
      folder: join(folder, "spool"),
      onTrouble: (what, error) => log.error(what, { error }),
    });
    await forgetOldJobs(folder, spool);
    const place = join(folder, "inputs");
    mkdirSync(place, { recursive: true, mode: 0o700 });
    const copies = own === undefined ? undefined : await startCopies(world, link, own, place, spool);
    undo.defer(() => copies?.close());
    const inputs = keepInputs({
      folder: place,
      bring: copies?.bring ?? bringOverLine(link, place, clock),
      clock,
      idleMs: settings.worker.inputsIdleMs,
      maxBytes: settings.worker.cacheBytes,
      copies: copies?.watch,
      packed: copies?.packed,
      ...defined({ newest: copies?.newest }),
    });
    copies?.start(inputs);
    const gpus = await gpusOf(settings.worker, env);
    if (gpus.length > 0) log.info("accelerators are given to jobs", { gpus: gpus.map(({ id }) => id) });
    const processes = createProcessExecutor({
      workloads,
      slots: settings.worker.slots,
      folder,
      edges: { clock, log, guardian, hasher, env },
      inputs,
      givesGpus: gpus.length > 0,
    });
    const executor = noticeMisfits(processes);
    const worker = createWorker({
      queue: queueOver(link, () => nodeId, clock),
      executor,
      artifacts: artifactsOver(link),
      admission: createAdmission(capacityOf(settings.worker, gpus), freeBytes(folder)),
      spool,
      clock,
      random,
      log,
      timing,
      maxWaiting: settings.worker.maxWaiting,
    });
    // The main process beside us measures this machine itself, and has the journal.
    const figures = own === undefined ? tellOwnFigures({ ...world, link, nodeId }) : undefined;
    undo.defer(() => figures?.stop());
    const joined =
      own === undefined || copies === undefined
        ? undefined
        : await startJoined(world, { link, nodeId, ...own }, worker, gpus, inputs, copies, executor.misfits);
    undo.defer(() => joined?.close());
    await worker.start();
    return {
      nodeId,
      /** The main process it works for, in words. */
      main,
      kinds: executor.kinds,
      worker,
      /** Resolves if it cannot go on as the node that it has joined as. */
      broken: joined?.broken,
      /** Resolves if the main process wants it to start anew. */
      restart: joined?.restart,
      /** `comesBack`: it starts anew at once, so that nobody is told that it leaves. */
      async close({ comesBack = false } = {}): Promise<void> {
        // What only this node has goes while its jobs come to their end: a machine that is taken away leaves no time after.
        await Promise.all([worker.stop(), comesBack ? undefined : copies?.leave(leaveLimitsOf(settings.worker))]);
        if (!comesBack) await joined?.leave();
        await undo.disposeAsync();
      },
    };
  } catch (thrown) {
    await undo.disposeAsync();
    throw thrown;
  }
}

export type RunningWorker = Awaited<ReturnType<typeof runWorker>>;

/** Folders of jobs that an earlier life did not finish; what is spooled, or kept as refused, stays. */
async function forgetOldJobs(folder: string, spool: Awaited<ReturnType<typeof openSpool>>): Promise<void> {
  const jobs = join(folder, "jobs");
  mkdirSync(jobs, { recursive: true, mode: 0o700 });
  const [{ entries }, rejected] = [await spool.read(), await spool.rejected()];
  const kept = new Set([...entries, ...rejected.map(({ entry }) => entry)].map((entry) => entry.folder));
  for (const name of readdirSync(jobs))
    if (!kept.has(join(jobs, name))) rmSync(join(jobs, name), { recursive: true, force: true });
}

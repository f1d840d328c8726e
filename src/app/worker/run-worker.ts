/** A worker put together: the line to its main process, the programs it runs, its folder, and its signs of life. */
import { mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, createIds, type Log, OperatingError, type Random } from "../../kernel/index.ts";
import {
  artifactsOver,
  type NodeAbout,
  type NodeLink,
  openLink,
  queueOver,
  requireEndpoint,
} from "../../surfaces/index.ts";
import {
  type Capacity,
  createAdmission,
  createWorker,
  openSpool,
  type Worker,
  type WorkerTiming,
  workerTimingDefaults,
} from "../../work/worker/index.ts";
import { createGuardian, createHasher, type Environment } from "../../workloads/process/index.ts";
import { guardDataDir } from "../guard.ts";
import type { Settings, WorkerSettings } from "../settings.ts";
import { createUndo } from "../undo.ts";
import { keepInputs } from "./inputs.ts";
import { keepBeating } from "./node-beats.ts";
import { joinedNode, nextIncarnation, nodeKeyIn, trustOf } from "./node-identity.ts";
import { type NodeVoice, startNodeVoice } from "./node-voice.ts";
import { createProcessExecutor } from "./process-executor.ts";
import { workloadList } from "./workload-list.ts";

export interface WorkerWorld {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly env: Environment;
  readonly version: string;
}

export interface RunningWorker {
  readonly nodeId: string;
  /** The main process it works for, in words. */
  readonly main: string;
  readonly kinds: readonly string[];
  readonly worker: Worker;
  /** Resolves if it cannot go on as this node. */
  readonly broken: Promise<OperatingError>;
  close(): Promise<void>;
}

/** What the settings of a worker come to. */
export const capacityOf = (worker: WorkerSettings): Capacity => ({
  slots: worker.slots,
  cpu: worker.cpus,
  memory_gb: worker.memoryGb,
  gpu: worker.gpus,
  gpu_memory_gb: worker.gpuMemoryGb,
  tags: worker.tags,
  diskReserveBytes: worker.diskReserveBytes,
});

export const timingOf = ({ beatMs, claimWaitSeconds, graceMs }: WorkerSettings): WorkerTiming => ({
  ...workerTimingDefaults,
  beatMs,
  waitSeconds: claimWaitSeconds,
  graceMs,
});

/** What the main process is told of this node when it joins, and with its first sign of life. */
export const aboutNode = ({ cpus, memoryGb, gpus, gpuMemoryGb, tags }: WorkerSettings): NodeAbout => ({
  cpu: cpus,
  gpu: gpus,
  memory_gb: memoryGb,
  gpu_memory_gb: gpuMemoryGb,
  tags,
  hostname: hostname(),
  platform: `${process.platform}-${process.arch}`,
});

interface Line {
  readonly link: NodeLink;
  readonly nodeId: string;
  readonly main: string;
  readonly incarnation: number | undefined;
}

/** The node that this folder has joined as; else beside the main process of the folder, as its own node. */
function lineOf({ settings, clock }: WorkerWorld): Line {
  const { dataDir } = settings;
  const node = joinedNode(dataDir);
  if (node === undefined) {
    const { node_id } = requireEndpoint(dataDir);
    const link = openLink({ target: { socketPath: () => requireEndpoint(dataDir).socket_path }, clock });
    return { link, nodeId: node_id, main: dataDir, incarnation: undefined };
  }
  const key = nodeKeyIn(dataDir);
  if (key.nodeId !== node.node_id)
    throw new OperatingError("NODE_KEY_INVALID", "the key of this folder is not the one that the node joined with", {
      hint: "Join again with a token.",
    });
  const incarnation = nextIncarnation(dataDir);
  const target = { url: new URL(node.url), trust: trustOf(node) };
  const link = openLink({ target, clock, identity: { key, incarnation } });
  return { link, nodeId: node.node_id, main: node.url, incarnation };
}

const NOTHING_WAITS: ReturnType<NodeVoice["waiting"]> = { waiting: 0, refused: 0 };

const freeBytes = (folder: string) => (): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

export async function runWorker(world: WorkerWorld): Promise<RunningWorker> {
  const { settings, clock, random, log, env } = world;
  const folder = join(settings.dataDir, "worker");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const undo = createUndo();
  try {
    // One worker for each folder, so that one controller knows all that runs here.
    const guard = guardDataDir(folder);
    undo.push(() => guard.release());
    const { link, nodeId, main, incarnation } = lineOf(world);
    undo.push(() => link.close());
    const workloads = workloadList(settings.worker.configFile, settings.worker.graceMs / 1_000);
    const guardian = createGuardian({ ids: createIds(clock, random), log });
    undo.push(() => guardian.close());
    const hasher = createHasher();
    undo.push(() => hasher.close());
    const spool = await openSpool({
      folder: join(folder, "spool"),
      onTrouble: (what, error) => log.error(what, { error }),
    });
    await forgetOldJobs(folder, spool);
    const inputs = keepInputs({ folder: join(folder, "inputs"), line: link, clock });
    mkdirSync(inputs.folder, { recursive: true, mode: 0o700 });
    const executor = createProcessExecutor({
      workloads,
      slots: settings.worker.slots,
      folder,
      log,
      edges: { clock, log, guardian, hasher, env },
      inputs,
    });
    const worker = createWorker({
      queue: queueOver(link, () => nodeId),
      executor,
      artifacts: artifactsOver(link),
      admission: createAdmission(capacityOf(settings.worker), freeBytes(folder)),
      spool,
      clock,
      random,
      log,
      timing: timingOf(settings.worker),
      mostWaiting: settings.worker.mostWaiting,
    });
    // The main process beside us measures this machine itself, and has the journal.
    const voice = incarnation === undefined ? undefined : await startNodeVoice({ ...world, link, nodeId });
    undo.push(() => voice?.close());
    const beats = keepBeating({
      ...world,
      link,
      nodeId,
      incarnation,
      worker,
      outbox: () => voice?.waiting() ?? NOTHING_WAITS,
      about: aboutNode(settings.worker),
    });
    undo.push(() => beats.stop());
    await worker.start();
    return {
      nodeId,
      main,
      kinds: executor.kinds,
      worker,
      broken: beats.broken,
      async close() {
        await worker.stop();
        await voice?.finish();
        await beats.leave("the worker ends in order");
        await undo.run();
      },
    };
  } catch (thrown) {
    await undo.run();
    throw thrown;
  }
}

/** Folders of jobs that an earlier life did not finish; what is spooled, or kept as refused, stays. */
async function forgetOldJobs(folder: string, spool: Awaited<ReturnType<typeof openSpool>>): Promise<void> {
  const jobs = join(folder, "jobs");
  mkdirSync(jobs, { recursive: true, mode: 0o700 });
  const [{ entries }, rejected] = [await spool.read(), await spool.rejected()];
  const kept = new Set([...entries, ...rejected.map(({ entry }) => entry)].map((entry) => entry.folder));
  for (const name of readdirSync(jobs))
    if (!kept.has(join(jobs, name))) rmSync(join(jobs, name), { recursive: true, force: true });
}

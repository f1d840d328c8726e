/** A node whose disk is full when it starts: nobody would know more of it than that it is silent, so it says what it lacks, and waits. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { assert, isOperatingError, sleep, translateDiskFault } from "../../kernel/index.ts";
import { diskOf } from "./disk-room.ts";
import { keepBeating } from "./node-beats.ts";
import { joinedNode, lastIncarnation } from "./node-identity.ts";
import { aboutNode, gpusOf, lineOfNode, type WorkerWorld } from "./run-worker.ts";

const LOOK_EVERY_MS = 1_000;
const NOTHING = { cpu: 0, gpu: 0, memory_gb: 0, gpu_memory_gb: 0, tags: [] };

export const isDiskFull = (thrown: unknown): boolean => isOperatingError(translateDiskFault(thrown), "STORE_FULL");

/** Results that lie here and that nobody else has. */
function waitingResults(dataDir: string): number {
  try {
    return readdirSync(join(dataDir, "worker", "spool", "results")).filter((name) => name.endsWith(".json")).length;
  } catch {
    return 0;
  }
}

/** Beats as the node it was, until there is room for jobs again or nobody wants it to wait; throws if it can never be heard again. */
export async function waitForRoom(world: WorkerWorld, signal: AbortSignal): Promise<void> {
  const { settings, clock, env } = world;
  const { dataDir, worker } = settings;
  const node = joinedNode(dataDir);
  assert(node !== undefined, "only a node of its own tells of its disk by beats");
  // A new life could not be written down. What the one before has signed is told apart by its number: a clock is ahead of every count.
  const life = { incarnation: lastIncarnation(dataDir), counter: Math.floor(clock.now()) };
  const { link, nodeId } = lineOfNode(world, node, () => life);
  const disk = diskOf(settings);
  const spool = { waiting: waitingResults(dataDir) };
  const beats = keepBeating({
    ...world,
    link,
    nodeId,
    incarnation: life.incarnation,
    worker: { status: () => ({ running: [], free: NOTHING, spool }), drain() {} },
    outbox: () => ({ waiting: 0, refused: 0 }),
    disk,
    about: aboutNode(worker, await gpusOf(worker, env)),
    deadManMs: worker.deadManMs,
  });
  let broken: Error | undefined;
  void beats.broken.then((error) => {
    broken = error;
  });
  try {
    for (;;) {
      await sleep(clock, LOOK_EVERY_MS, signal).catch(() => undefined);
      if (broken !== undefined) throw broken;
      const room = disk();
      if (signal.aborted || (room !== undefined && room.free_bytes > room.reserve_bytes)) return;
    }
  } finally {
    await beats.stop();
    link.close();
  }
}

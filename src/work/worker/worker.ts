/**
 * The worker: claims what fits, has it done, keeps its leases alive, and brings results home.
 *
 * Beats run on their own timer and wait for nobody: neither for a claim that is kept open nor for an upload. They come from
 * the loop that also runs everything else, so that a worker whose loop hangs loses its leases.
 */
import { assert } from "../../kernel/index.ts";
import type { Offer } from "../job/needs.ts";
import type { Progress } from "../leases/lease.ts";
import { createBeats } from "./beats.ts";
import { createBoards } from "./boards.ts";
import { runClaimLoop } from "./claim-loop.ts";
import { createDeliveries } from "./deliveries.ts";
import { createHeldLeases } from "./held-leases.ts";
import { createJobRuns } from "./job-runs.ts";
import { createPoints } from "./points.ts";
import type { StopReason } from "./ports.ts";
import { entryId, type SpoolEntry } from "./spool.ts";
import { within } from "./within.ts";
import type { WorkerCounts, WorkerOptions } from "./worker-options.ts";

export interface WorkerStatus {
  readonly state: "idle" | "working" | "draining" | "stopping" | "stopped";
  readonly running: readonly { readonly work_id: string; readonly work_type: string; readonly progress: Progress }[];
  readonly free: Offer;
  readonly slots: { readonly total: number; readonly free: number };
  readonly spool: { readonly waiting: number };
  readonly counts: Readonly<WorkerCounts>;
}

export type Worker = ReturnType<typeof createWorker>;

/** A child that was told to go, then made to, has gone by then. */
const AFTER_GRACE_MS = 7_000;
const FORCED_RELEASE_MS = 1_000;

export function createWorker(options: WorkerOptions) {
  const { executor, admission, spool, clock, log, timing, maxWaiting = 1_000 } = options;
  const counts: WorkerCounts = { claimed: 0, completed: 0, failed: 0, released: 0, lost: 0, cancelled: 0 };
  const stopping = new AbortController();
  const { signal } = stopping;
  const forced = Promise.withResolvers<void>();
  let isForced = false;
  let draining = false;
  let started = false;
  let stopped: Promise<void> | undefined;
  let isOver = false;
  let claiming: Promise<void> = Promise.resolve();

  const leases = createHeldLeases(spool, log);
  const boards = createBoards(options, leases);
  const beats = createBeats(options, leases, boards.wanted);
  const deliveries = createDeliveries({
    ...options,
    onSettled({ ref, say }, refused) {
      if (refused !== undefined) counts.lost += 1;
      else counts[say === "complete" ? "completed" : say === "fail" ? "failed" : "released"] += 1;
      leases.letGo(ref);
    },
  });
  const points = createPoints(options, leases);
  const runs = createJobRuns(options, { leases, beats, points, deliveries, counts, signal });

  const mayClaim = () =>
    !draining && admission.free().slots > 0 && deliveries.waiting + runs.spooling.size < maxWaiting;

  /** Its lease may still be alive, and stays so until the queue has answered. */
  const deliverOld = (entry: SpoolEntry): void => {
    leases.hold(entry.ref, entry.work_type, "delivering");
    deliveries.push(entry);
  };

  /** An earlier life was killed with these in its hands: the queue need not wait for its silence. */
  const giveBackOld = async (): Promise<void> => {
    const { entries, held } = await spool.read();
    const finished = new Set(entries.map(({ ref }) => entryId(ref)));
    for (const entry of entries) {
      if (entry.say === "complete") log.info("a finished job is sent again", { work_id: entry.ref.work_id });
      deliverOld(entry);
    }
    for (const { ref, work_type, began } of held) {
      if (finished.has(entryId(ref))) continue;
      const common = { ref, work_type, finished_at: clock.now() / 1_000 };
      const error = "the worker was killed in the middle of it";
      const entry: SpoolEntry = began
        ? { ...common, say: "fail", failure: { class: "retryable", error, error_code: "WORKER_KILLED" } }
        : { ...common, say: "release", reason: "the worker was killed before it began" };
      await spool.put(entry);
      deliverOld(entry);
    }
  };

  const end = async (): Promise<void> => {
    stopping.abort(new Error("the worker stops"));
    const going = leases.unfinished();
    if (going.length > 0) log.info("running jobs are told to stop", { jobs: going.length, grace_ms: timing.graceMs });
    for (const one of going) one.ending.abort("shutdown" satisfies StopReason);
    const ended = claiming.then(() => Promise.all(runs.running));
    await within(clock, Promise.race([ended, forced.promise]), timing.graceMs + AFTER_GRACE_MS);
    const stuck = leases.unfinished();
    if (stuck.length > 0) {
      log.warn("jobs that would not end are given back", { jobs: stuck.map(({ ref }) => ref.work_id) });
      executor.kill();
      const reason = "the worker shut down, and the job did not end in time";
      for (const one of stuck) await runs.finish(one, { status: "stopped", reason });
    }
    const flushMs = isForced ? FORCED_RELEASE_MS : timing.flushMs;
    await within(clock, Promise.allSettled(runs.spooling), Math.max(flushMs, FORCED_RELEASE_MS));
    await deliveries.flush(flushMs);
    isOver = true;
    beats.stop();
    boards.stop();
    points.stop();
    if (deliveries.waiting > 0)
      log.warn("results stay in the spool for the next start", { waiting: deliveries.waiting });
    await deliveries.stop();
    await executor.close();
  };

  const currentState = (): WorkerStatus["state"] => {
    if (isOver) return "stopped";
    if (signal.aborted) return "stopping";
    if (draining) return "draining";
    return admission.running > 0 ? "working" : "idle";
  };

  return {
    /** Sends what an earlier life left, then claims until it is stopped. */
    async start() {
      assert(!started, "a worker is started once");
      started = true;
      await giveBackOld();
      beats.arm();
      claiming = runClaimLoop(options, { mayClaim, changed: () => leases.change, take: runs.take, signal });
    },
    /** While it drains it finishes what it has and claims nothing. */
    drain(on: boolean) {
      draining = on;
      leases.changed();
    },
    /** No new claims; running jobs have their grace; what does not end is given back unspent. Twice is once. */
    stop() {
      stopped ??= end();
      return stopped;
    },
    /** Nobody waits any more: what runs is ended now, and given back if the queue answers at once. */
    force() {
      isForced = true;
      executor.kill();
      forced.resolve();
    },
    status(): WorkerStatus {
      const { slots, offer } = admission.free();
      return {
        state: currentState(),
        running: leases
          .unfinished()
          .map(({ ref, workType, progress }) => ({ work_id: ref.work_id, work_type: workType, progress })),
        free: offer,
        slots: { total: admission.capacity.slots, free: slots },
        spool: { waiting: deliveries.waiting },
        counts: { ...counts },
      };
    },
  };
}

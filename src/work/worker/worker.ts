/**
 * The worker: claims what fits, has it done, keeps its leases alive, and brings results home.
 *
 * Beats run on their own timer and wait for nobody: neither for a claim that is kept open nor for an upload. They come from
 * the loop that also runs everything else, so that a worker whose loop hangs loses its leases.
 */
import {
  assert,
  backoffMs,
  type Clock,
  type Log,
  messageOf,
  type Random,
  sleep,
  type Timer,
} from "../../kernel/index.ts";
import type { Lease } from "../claim.ts";
import type { LeaseRef } from "../job.ts";
import type { Progress } from "../lease.ts";
import type { Offer } from "../needs.ts";
import type { Admission, Ticket } from "./admission.ts";
import { createDeliveries } from "./deliveries.ts";
import type { ArtifactPort, ExecutorPort, QueuePort, Refusal, StopReason, WorkResult } from "./ports.ts";
import { entryId, type Spool, type SpoolEntry } from "./spool.ts";

export interface WorkerOptions {
  readonly queue: QueuePort;
  readonly executor: ExecutorPort;
  readonly artifacts: ArtifactPort;
  readonly admission: Admission;
  readonly spool: Spool;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timing: WorkerTiming;
  /** Results that may wait to be taken; while there are more, nothing new is claimed. */
  readonly mostWaiting?: number;
}

export interface WorkerTiming {
  /** Between two beats at most; a short lease is beaten more often. */
  readonly beatMs: number;
  /** How long a claim may be kept open. */
  readonly waitSeconds: number;
  /** Between two claims that brought nothing. */
  readonly idleMs: number;
  /** What running jobs have at a shutdown; after it they are given back. */
  readonly graceMs: number;
  /** After the jobs have ended: for results to be taken before the process goes. */
  readonly flushMs: number;
}

export const workerTimingDefaults: WorkerTiming = {
  beatMs: 10_000,
  waitSeconds: 20,
  idleMs: 1_000,
  graceMs: 60_000,
  flushMs: 10_000,
};

export interface WorkerStatus {
  readonly state: "idle" | "working" | "draining" | "stopping" | "stopped";
  readonly running: readonly { readonly work_id: string; readonly work_type: string; readonly progress: Progress }[];
  readonly free: Offer;
  readonly slots: { readonly total: number; readonly free: number };
  readonly spool: { readonly waiting: number };
  readonly counts: Readonly<WorkerCounts>;
}

interface WorkerCounts {
  claimed: number;
  completed: number;
  failed: number;
  released: number;
  /** Leases that somebody else has by now, and results that were refused. */
  lost: number;
  cancelled: number;
}

export interface Worker {
  /** Sends what an earlier life left, then claims until it is stopped. */
  start(): Promise<void>;
  /** While it drains it finishes what it has and claims nothing. */
  drain(on: boolean): void;
  /** No new claims; running jobs have their grace; what does not end is given back unspent. Twice is once. */
  stop(): Promise<void>;
  /** Nobody waits any more: what runs is ended now, and given back if the queue answers at once. */
  force(): void;
  status(): WorkerStatus;
}

interface Held {
  readonly ref: LeaseRef;
  readonly workType: string;
  readonly ending: AbortController;
  ticket: Ticket | undefined;
  /** `ending`: the work has ended, and its result is on its way to the spool. */
  phase: "claimed" | "running" | "ending" | "delivering";
  progress: Progress;
  /** Somebody else has it, or it was cancelled: nothing of it counts any more. */
  void: "lease_lost" | "cancelled" | undefined;
}

const AGAIN = { firstMs: 250, mostMs: 15_000, jitter: 0.5 };
/** A lease is beaten so often within the time that the queue waits for it. */
const BEATS_IN_SILENCE = 4;
/** A child that was told to go, then made to, has gone by then. */
const AFTER_GRACE_MS = 7_000;
const FORCED_RELEASE_MS = 1_000;
const BEGAN = Promise.resolve();

export function createWorker(options: WorkerOptions): Worker {
  const { queue, executor, artifacts, admission, spool, clock, random, log, timing } = options;
  const mostWaiting = options.mostWaiting ?? 1_000;
  const held = new Map<string, Held>();
  const counts: WorkerCounts = { claimed: 0, completed: 0, failed: 0, released: 0, lost: 0, cancelled: 0 };
  const stopping = new AbortController();
  const forced = Promise.withResolvers<void>();
  let isForced = false;
  let draining = false;
  let started = false;
  let stopped: Promise<void> | undefined;
  let isOver = false;
  let claiming: Promise<void> = Promise.resolve();
  let beatTimer: Timer | undefined;
  let beating = false;
  let silenceMs = Number.POSITIVE_INFINITY;
  /** Results on their way to the spool. */
  const spooling = new Set<Promise<void>>();
  const runs = new Set<Promise<void>>();
  let wake = Promise.withResolvers<void>();
  const changed = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };

  const deliveries = createDeliveries({
    queue,
    artifacts,
    spool,
    clock,
    random,
    log,
    onSettled({ ref, say }, refused) {
      if (refused !== undefined) counts.lost += 1;
      else counts[say === "complete" ? "completed" : say === "fail" ? "failed" : "released"] += 1;
      letGo(ref);
    },
  });

  const letGo = (ref: LeaseRef): void => {
    const one = held.get(entryId(ref));
    one?.ticket?.release();
    held.delete(entryId(ref));
    // A note that stays is only asked about once more at the next start.
    spool.drop(ref).catch((thrown) => log.warn("a note of a lease stays", { error: messageOf(thrown) }));
    changed();
  };

  // --- beats

  const beatEveryMs = () => Math.min(timing.beatMs, Math.max(timing.beatMs / 20, silenceMs / BEATS_IN_SILENCE));
  const armBeat = (): void => {
    if (isOver || beatTimer !== undefined) return;
    beatTimer = clock.after(beatEveryMs(), () => {
      beatTimer = undefined;
      armBeat();
      void beat();
    });
  };

  const refusedBeat = (one: Held, { code, message }: Refusal): void => {
    // It may have been taken already, and the answer was lost: the queue's word on the result decides.
    if (one.phase === "delivering" || one.void !== undefined) return;
    one.void = code === "JOB_CANCELLED" ? "cancelled" : "lease_lost";
    log.warn("the lease is lost; its job is stopped", {
      work_id: one.ref.work_id,
      fence: one.ref.fence,
      code,
      message,
    });
    one.ending.abort("lease_lost" satisfies StopReason);
  };

  const beat = async (): Promise<void> => {
    // One at a time: a network that hangs must not fill up with beats.
    if (beating) return;
    const all = [...held.values()].filter((one) => one.void === undefined);
    if (all.length === 0) return;
    beating = true;
    try {
      const answers = await queue.beat(all.map(({ ref, progress }) => ({ ref, progress })));
      for (const [i, one] of all.entries()) {
        const answer = answers[i];
        if (answer === undefined) continue;
        if (!answer.ok) refusedBeat(one, answer.error);
        else if (answer.value.stop !== null && one.phase !== "delivering") {
          const { kind, reason } = answer.value.stop;
          if (one.void !== undefined || one.ending.signal.aborted) continue;
          log.info("a job is told to stop", { work_id: one.ref.work_id, kind, reason });
          if (kind === "cancelled") one.void = "cancelled";
          one.ending.abort(kind satisfies StopReason);
        }
      }
    } catch (thrown) {
      log.debug("a beat did not get through", { leases: all.length, error: messageOf(thrown) });
    } finally {
      beating = false;
    }
  };

  // --- one job

  const entryOf = (one: Held, result: WorkResult): SpoolEntry => {
    const common = {
      ref: one.ref,
      work_type: one.workType,
      finished_at: clock.now() / 1_000,
      ...(result.folder === undefined ? {} : { folder: result.folder }),
    };
    if (result.status === "failed") return { ...common, say: "fail", failure: result.failure };
    if (result.status === "stopped") return { ...common, say: "release", reason: result.reason };
    const { outputs = [], counts: counted = {}, summary } = result.evidence;
    const evidence = { outputs: [...outputs], counts: counted, ...(summary === undefined ? {} : { summary }) };
    return { ...common, say: "complete", evidence, files: [...result.files] };
  };

  /** Nobody counts the result any more. */
  const putAside = async (one: Held, entry: SpoolEntry): Promise<void> => {
    if (one.void === "lease_lost" && entry.say === "complete")
      await spool.reject(entry, { code: "STALE_LEASE", message: "the lease was lost while it ran" });
    else await spool.remove(entry);
    counts[one.void === "cancelled" ? "cancelled" : "lost"] += 1;
    letGo(one.ref);
  };

  const spoolResult = async (one: Held, result: WorkResult, began: Promise<void>): Promise<void> => {
    const entry = entryOf(one, result);
    if (one.void !== undefined) return putAside(one, entry);
    await spool.put(entry).catch((thrown: unknown) =>
      // A full disk is no reason to forget what was done: it is told from memory.
      log.error("a result could not be spooled; it is sent from memory", { error: messageOf(thrown) }),
    );
    // Its end is not told before its beginning; and the answer to that may have been a refusal.
    await began;
    if (one.void !== undefined) return putAside(one, entry);
    one.phase = "delivering";
    deliveries.push(entry);
  };

  const isDone = ({ phase }: Held): boolean => phase === "ending" || phase === "delivering";

  /** From here on the slot is another job's, and the result is the spool's. The first result of a job is its result. */
  const finish = async (one: Held, result: WorkResult, began: Promise<void>): Promise<void> => {
    if (isDone(one)) return;
    one.phase = "ending";
    one.ticket?.release();
    one.ticket = undefined;
    const spooled = spoolResult(one, result, began).finally(() => spooling.delete(spooled));
    spooling.add(spooled);
    changed();
    await spooled;
  };

  const runOne = async (one: Held, lease: Lease, began: Promise<void>): Promise<void> => {
    const { ending } = one;
    let result: WorkResult;
    if (ending.signal.aborted) result = { status: "stopped", reason: `the worker stopped before it began` };
    else
      try {
        one.phase = "running";
        result = await executor.run(lease, {
          signal: ending.signal,
          progress(how) {
            one.progress = { ...one.progress, ...how };
          },
        });
      } catch (thrown) {
        log.error("an executor threw", { work_id: lease.work_id, error: messageOf(thrown) });
        const failure = { class: "retryable", error: messageOf(thrown), error_code: "EXECUTOR_FAILED" } as const;
        result = { status: "failed", failure };
      }
    // Somebody may have given the job back while it would not end.
    if (held.get(entryId(one.ref)) === one) await finish(one, result, began);
  };

  /** Says that these begin; the answer says which of them are still ours. Never rejects. */
  const begin = async (all: readonly Held[]): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const open = all.filter((one) => one.void === undefined && !one.ending.signal.aborted);
      if (open.length === 0) return;
      try {
        const answers = await queue.start(open.map(({ ref }) => ({ ref })));
        for (const [i, one] of open.entries()) {
          const answer = answers[i];
          if (answer !== undefined && !answer.ok) refusedBeat(one, answer.error);
        }
        const noted = open.map(({ ref, workType }) => spool.hold({ ref, work_type: workType, began: true }));
        await Promise.all(noted).catch((thrown) =>
          log.warn("leases are held without a note", { error: messageOf(thrown) }),
        );
        return;
      } catch (thrown) {
        log.debug("a start did not get through", { tries, error: messageOf(thrown) });
        await sleep(clock, backoffMs(AGAIN, tries, random), stopping.signal).catch(() => undefined);
        if (stopping.signal.aborted) return;
      }
    }
  };

  const hold = (ref: LeaseRef, workType: string, phase: Held["phase"], ticket?: Ticket): Held => {
    const one = { ref, workType, ending: new AbortController(), ticket, phase, progress: {}, void: undefined };
    held.set(entryId(ref), one);
    return one;
  };

  const take = (leases: readonly Lease[], isBegun: boolean): void => {
    if (leases.length === 0) return;
    counts.claimed += leases.length;
    const taken = leases.map((lease): Held => {
      const { work_id, node_id, fence } = lease;
      const ticket = admission.take(lease.needs);
      const one = hold({ work_id, node_id, fence }, lease.work_type, "claimed", ticket);
      const leftMs = lease.beat_by * 1_000 - clock.now();
      if (leftMs > 0) silenceMs = Math.min(silenceMs, leftMs);
      // It was dealt more than it has room for, or it is leaving.
      if (one.ticket === undefined || stopping.signal.aborted) one.ending.abort("shutdown" satisfies StopReason);
      return one;
    });
    armBeat();
    const run = (async () => {
      const noted = taken.map(({ ref, workType }) => spool.hold({ ref, work_type: workType, began: isBegun }));
      await Promise.all(noted).catch((thrown) =>
        log.warn("leases are held without a note", { error: messageOf(thrown) }),
      );
      // Nobody waits for the answer: a lease that is not ours any more stops its job as soon as we hear of it.
      const began = isBegun ? BEGAN : begin(taken);
      await Promise.all([began, ...taken.map((one, i) => runOne(one, leases[i]!, began))]);
    })().catch((thrown) => log.error("a job fell through", { error: messageOf(thrown) }));
    runs.add(run);
    void run.finally(() => runs.delete(run));
  };

  // --- claims

  const mayClaim = () => !draining && admission.free().slots > 0 && deliveries.waiting + spooling.size < mostWaiting;

  /** Of the claim that has no answer yet. */
  let claimId: string | undefined;

  const claim = async (): Promise<number> => {
    const { slots, offer } = admission.free();
    const askedMs = clock.monotonic();
    claimId ??= `${random.bits().toString(16)}-${random.bits().toString(16)}`;
    const { leases, began, retryAfterMs } = await queue.claim(
      { claimId, most: slots, offer, kinds: executor.kinds, waitSeconds: timing.waitSeconds },
      stopping.signal,
    );
    claimId = undefined;
    take(leases, began);
    if (leases.length > 0) return 0;
    // Not all at once: who asks together now would ask together for ever. A claim that was kept open is a pause already.
    if (retryAfterMs !== undefined) return retryAfterMs * (0.5 + random.next());
    return Math.max(0, timing.idleMs * (0.5 + random.next()) - (clock.monotonic() - askedMs));
  };

  const claimLoop = async (): Promise<void> => {
    let tries = 0;
    while (!stopping.signal.aborted) {
      if (!mayClaim()) {
        // A disk that is emptied tells nobody: look again now and then.
        await Promise.race([wake.promise, sleep(clock, timing.idleMs, stopping.signal).catch(() => undefined)]);
        continue;
      }
      let pauseMs: number;
      try {
        pauseMs = await claim();
        if (tries >= 3) log.info("the queue answers again");
        tries = 0;
      } catch (thrown) {
        if (stopping.signal.aborted) return;
        tries += 1;
        if (tries === 3) log.warn("the queue cannot be asked for work", { error: messageOf(thrown) });
        pauseMs = backoffMs(AGAIN, tries, random);
      }
      if (pauseMs > 0) await sleep(clock, pauseMs, stopping.signal).catch(() => undefined);
    }
  };

  /** An earlier life was killed with these in its hands: the queue need not wait for its silence. */
  const giveBackOld = (): Promise<void> =>
    spool.read().then(async ({ entries, held: notes }) => {
      const finished = new Set(entries.map(({ ref }) => entryId(ref)));
      for (const entry of entries) {
        if (entry.say === "complete") log.info("a finished job is sent again", { work_id: entry.ref.work_id });
        // Its lease may still be alive, and stays so until the queue has answered.
        hold(entry.ref, entry.work_type, "delivering");
        deliveries.push(entry);
      }
      for (const { ref, work_type, began } of notes) {
        if (finished.has(entryId(ref))) continue;
        const common = { ref, work_type, finished_at: clock.now() / 1_000 };
        const error = "the worker was killed in the middle of it";
        const entry: SpoolEntry = began
          ? { ...common, say: "fail", failure: { class: "retryable", error, error_code: "WORKER_KILLED" } }
          : { ...common, say: "release", reason: "the worker was killed before it began" };
        await spool.put(entry);
        hold(ref, work_type, "delivering");
        deliveries.push(entry);
      }
    });

  const within = async (waited: Promise<unknown>, mostMs: number): Promise<void> => {
    const late = Promise.withResolvers<void>();
    const timer = clock.after(mostMs, late.resolve, "hold");
    await Promise.race([waited, late.promise]);
    timer.cancel();
  };

  const end = async (): Promise<void> => {
    stopping.abort(new Error("the worker stops"));
    const going = [...held.values()].filter((one) => !isDone(one));
    if (going.length > 0) log.info("running jobs are told to stop", { jobs: going.length, grace_ms: timing.graceMs });
    for (const one of going) one.ending.abort("shutdown" satisfies StopReason);
    const ended = claiming.then(() => Promise.all(runs));
    await within(Promise.race([ended, forced.promise]), timing.graceMs + AFTER_GRACE_MS);
    const stuck = [...held.values()].filter((one) => !isDone(one));
    if (stuck.length > 0) {
      log.warn("jobs that would not end are given back", { jobs: stuck.map(({ ref }) => ref.work_id) });
      executor.kill();
      for (const one of stuck)
        await finish(
          one,
          { status: "stopped", reason: "the worker shut down, and the job did not end in time" },
          BEGAN,
        );
    }
    const flushMs = isForced ? FORCED_RELEASE_MS : timing.flushMs;
    await within(Promise.allSettled(spooling), Math.max(flushMs, FORCED_RELEASE_MS));
    await deliveries.flush(flushMs);
    isOver = true;
    beatTimer?.cancel();
    if (deliveries.waiting > 0)
      log.warn("results stay in the spool for the next start", { waiting: deliveries.waiting });
    await deliveries.stop();
    await executor.close();
  };

  const stateOf = (): WorkerStatus["state"] => {
    if (isOver) return "stopped";
    if (stopping.signal.aborted) return "stopping";
    if (draining) return "draining";
    return admission.running > 0 ? "working" : "idle";
  };

  return {
    async start() {
      assert(!started, "a worker is started once");
      started = true;
      await giveBackOld();
      armBeat();
      claiming = claimLoop();
    },
    drain(on) {
      draining = on;
      changed();
    },
    stop() {
      stopped ??= end();
      return stopped;
    },
    force() {
      isForced = true;
      executor.kill();
      forced.resolve();
    },
    status() {
      const { slots, offer } = admission.free();
      return {
        state: stateOf(),
        running: [...held.values()].flatMap(({ phase, ref, workType, progress }) =>
          phase === "ending" || phase === "delivering" ? [] : [{ work_id: ref.work_id, work_type: workType, progress }],
        ),
        free: offer,
        slots: { total: admission.capacity.slots, free: slots },
        spool: { waiting: deliveries.waiting },
        counts: { ...counts },
      };
    },
  };
}

import { backoffMs, defined, messageOf, PEER_BACKOFF, sleep } from "../../kernel/index.ts";
import type { Lease } from "../claims/claim.ts";
import type { Beats } from "./beats.ts";
import type { Deliveries } from "./deliveries.ts";
import { type Held, type HeldLeases, isDone } from "./held-leases.ts";
import type { Points } from "./points.ts";
import type { StopReason, WorkResult } from "./ports.ts";
import type { SpoolEntry } from "./spool.ts";
import type { WorkerCounts, WorkerOptions } from "./worker-options.ts";

export interface JobRuns {
  /** Has them done. `isBegun`: the queue took them for begun. */
  take(leases: readonly Lease[], isBegun: boolean): void;
  /** From here on the slot is another job's, and the result is the spool's. The first result of a job is its result. */
  finish(one: Held, result: WorkResult, began?: Promise<void>): Promise<void>;
  /** What runs. */
  readonly running: ReadonlySet<Promise<void>>;
  /** Results on their way to the spool. */
  readonly spooling: ReadonlySet<Promise<void>>;
}

export interface JobRunsParts {
  readonly leases: HeldLeases;
  readonly beats: Beats;
  readonly points: Points;
  readonly deliveries: Deliveries;
  readonly counts: WorkerCounts;
  /** Aborts when the worker stops. */
  readonly signal: AbortSignal;
}

const BEGAN = Promise.resolve();

function entryOf({ ref, workType }: Held, result: WorkResult, finishedAt: number): SpoolEntry {
  const common = { ref, work_type: workType, finished_at: finishedAt, ...defined({ folder: result.folder }) };
  if (result.status === "failed") return { ...common, say: "fail", failure: result.failure };
  if (result.status === "stopped")
    return { ...common, say: "release", reason: result.reason, ...defined({ saved: result.saved }) };
  const { outputs = [], counts = {}, summary } = result.evidence;
  const evidence = { outputs: [...outputs], counts, ...defined({ summary }) };
  return { ...common, say: "complete", evidence, files: [...result.files] };
}

/** The jobs of a worker, from their leases to their results in the spool. */
export function createJobRuns(options: WorkerOptions, parts: JobRunsParts): JobRuns {
  const { queue, executor, admission, spool, clock, random, log } = options;
  const { leases: held, beats, points, deliveries, counts, signal } = parts;
  const running = new Set<Promise<void>>();
  const spooling = new Set<Promise<void>>();

  /** Nobody counts the result any more. */
  const putAside = async (one: Held, entry: SpoolEntry): Promise<void> => {
    const put =
      one.void === "lease_lost" && entry.say === "complete"
        ? spool.reject(entry, { code: "STALE_LEASE", message: "the lease was lost while it ran" })
        : spool.remove(entry);
    // A full disk is no reason to go on holding what is somebody else's.
    await put.catch((thrown: unknown) => log.error("a refused result could not be kept", { error: messageOf(thrown) }));
    counts[one.void === "cancelled" ? "cancelled" : "lost"] += 1;
    held.letGo(one.ref);
  };

  const spoolResult = async (one: Held, result: WorkResult, began: Promise<void>): Promise<void> => {
    const entry = entryOf(one, result, clock.now() / 1_000);
    if (one.void !== undefined) return putAside(one, entry);
    await spool.put(entry).catch((thrown: unknown) =>
      // A full disk is no reason to forget what was done: it is sent from memory.
      log.error("a result could not be spooled; it is sent from memory", { error: messageOf(thrown) }),
    );
    // Its end is not reported before its beginning; and the answer to that may have been a refusal.
    await began;
    if (one.void !== undefined) return putAside(one, entry);
    one.phase = "delivering";
    deliveries.push(entry);
  };

  const finish = async (one: Held, result: WorkResult, began = BEGAN): Promise<void> => {
    if (isDone(one)) return;
    one.phase = "ending";
    points.end(one);
    one.ticket?.release();
    one.ticket = undefined;
    const spooled = spoolResult(one, result, began).finally(() => spooling.delete(spooled));
    spooling.add(spooled);
    held.changed();
    await spooled;
  };

  const execute = async (one: Held, lease: Lease): Promise<WorkResult> => {
    if (one.ending.signal.aborted) return { status: "stopped", reason: "the worker stopped before it began" };
    try {
      one.phase = "running";
      return await executor.run(lease, {
        signal: one.ending.signal,
        gpus: one.ticket?.gpus ?? [],
        progress(how) {
          one.progress = { ...one.progress, ...how };
          if (how.metrics !== undefined) points.add(one, how.metrics);
        },
        board(shown) {
          one.board = shown;
        },
      });
    } catch (thrown) {
      log.error("an executor threw an error", { work_id: lease.work_id, error: messageOf(thrown) });
      const failure = { class: "retryable", error: messageOf(thrown), error_code: "EXECUTOR_FAILED" } as const;
      return { status: "failed", failure };
    }
  };

  const runOne = async (one: Held, lease: Lease, began: Promise<void>): Promise<void> => {
    const result = await execute(one, lease);
    // Somebody may have given the job back while it would not end.
    if (held.has(one)) await finish(one, result, began);
  };

  /** Reports that these begin; the answer says which of them are still ours. Never rejects. */
  const begin = async (all: readonly Held[]): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const open = all.filter((one) => one.void === undefined && !one.ending.signal.aborted);
      if (open.length === 0) return;
      try {
        const answers = await queue.start(open.map(({ ref }) => ({ ref })));
        for (const [i, one] of open.entries()) {
          const answer = answers[i];
          if (answer !== undefined && !answer.ok) beats.refused(one, answer.error);
        }
        await held.note(open, true);
        return;
      } catch (thrown) {
        log.debug("the start of a job could not be reported", { tries, error: messageOf(thrown) });
        await sleep(clock, backoffMs(PEER_BACKOFF, tries, random), signal).catch(() => undefined);
        if (signal.aborted) return;
      }
    }
  };

  const take = (leases: readonly Lease[], isBegun: boolean): void => {
    if (leases.length === 0) return;
    counts.claimed += leases.length;
    const taken = leases.map((lease): Held => {
      const { work_id, node_id, fence } = lease;
      const one = held.hold({ work_id, node_id, fence }, lease.work_type, "claimed", admission.take(lease.needs));
      beats.keep(lease.beat_by - clock.now());
      // It was dealt more than it has room for, or it is leaving.
      if (one.ticket === undefined || signal.aborted) one.ending.abort("shutdown" satisfies StopReason);
      return one;
    });
    beats.arm();
    const run = (async () => {
      await held.note(taken, isBegun);
      // Nobody waits for the answer: a lease that is not ours any more stops its job as soon as we hear of it.
      const began = isBegun ? BEGAN : begin(taken);
      await Promise.all([began, ...taken.map((one, i) => runOne(one, leases[i]!, began))]);
    })().catch((thrown) => log.error("a job failed unexpectedly", { error: messageOf(thrown) }));
    running.add(run);
    void run.finally(() => running.delete(run));
  };

  return { take, finish, running, spooling };
}

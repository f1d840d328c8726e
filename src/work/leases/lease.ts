import { z } from "zod";
import { canonicalJson, defined, type Json, OperatingError } from "../../kernel/index.ts";
import { beginAttempt } from "../claims/claim.ts";
import {
  type EarlierLease,
  earlierLease,
  type LapseReason,
  winnerOf,
  withLapsed,
  withoutLease,
  withWinner,
} from "../job/earlier-leases.ts";
import { failureSchema, type WorkFailure } from "../job/failure.ts";
import { type JobRow, type LeaseRef, notFound, type SavedInput, savedSchema, seqOf } from "../job/job.ts";
import { checkEvidence, type EvidenceInput, kindOf } from "../job/kinds.ts";
import { FAILURE_CLASSES, headOf, judgeRetry, retryRules, tailOf } from "../job/retry-rules.ts";
import { isHeld } from "../job/states.ts";
import { METRIC_LIMITS, resultLimits } from "../limits.ts";
import { otherOfItsKey } from "../queue/dedup.ts";
import { durationOf, emitFailed, emitRetry, failedOutcome, itemOf, taskOf } from "../queue/job-events.ts";
import type { Plan } from "../queue/plan.ts";
import type { QueueState } from "../queue/queue-state.ts";
import type { JobChanges } from "../tables.ts";

/** What a holder learns from a beat. */
export interface BeatAnswer {
  readonly beat_by: number;
  readonly expires_at: number;
  /** It shall stop: its job was cancelled, or has to make room. */
  readonly stop: { readonly kind: "cancelled" | "preempted"; readonly reason: string; readonly by: number } | null;
  /** Somebody looks at games that are played now: its node may tell boards. */
  readonly watched?: boolean | undefined;
}

export interface Progress {
  /** Share that is done, 0 to 1. */
  readonly progress?: number | undefined;
  readonly games?: number | undefined;
  /** A few numbers by name, as in losses; the queue keeps the newest. */
  readonly metrics?: Readonly<Record<string, number>> | undefined;
}

/** A result whose files have not come: it counts once they are there. */
export const RESULT_FILE_MISSING = "RESULT_FILE_MISSING";

/** The first few numbers with short names that can be true. */
export const boundedMetrics = (given: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(given)
      .filter(
        ([name, value]) =>
          name !== "" && name.length <= METRIC_LIMITS.name && Math.abs(value) <= resultLimits.maxNumber,
      )
      .slice(0, METRIC_LIMITS.max),
  );

const isFor = (job: JobRow, ref: LeaseRef) => job.fence === ref.fence && job.node_id === ref.node_id;

/** The job, if this is its holder; whoever comes with an older lease, or another's, is refused. */
function heldJob(plan: Plan, ref: LeaseRef): JobRow {
  const job = plan.job(seqOf(ref.work_id));
  if (job === undefined) throw notFound(ref.work_id);
  if (isHeld(job.state) && isFor(job, ref)) return job;
  if (job.state === "cancelled" && isFor(job, ref))
    throw OperatingError.conflict("JOB_CANCELLED", `job ${ref.work_id} was cancelled`, {
      hint: "Stop working on it; its result is not needed.",
    });
  const first = job.state === "completed" ? `: node ${job.node_id} was the first with its result` : "";
  throw OperatingError.conflict(
    "STALE_LEASE",
    `node ${ref.node_id} does not hold job ${ref.work_id} (fence ${ref.fence})${first}`,
    {
      hint: "Stop working on it. The lease has ended: the job waits again, another node has it, or it is finished.",
      details: {
        work_id: ref.work_id,
        state: job.state,
        fence: job.fence,
        ...(first === "" ? {} : { done_by: job.node_id }),
      },
    },
  );
}

/**
 * The lease of a job that was given to another since, whose result would be taken if it came now. Not after the job's
 * deadline, nor when another of its dedup key took its place.
 */
function overtaking(plan: Plan, job: JobRow, ref: LeaseRef): EarlierLease | undefined {
  const earlier = earlierLease(job, ref);
  if (earlier === undefined || job.state === "completed" || job.state === "cancelled") return undefined;
  if (job.state !== "failed") return earlier;
  const isTooLate = job.deadline !== null && job.deadline <= plan.now;
  return isTooLate || otherOfItsKey(plan, job) !== undefined ? undefined : earlier;
}

/** A holder without progress works on beside the one that has the job now, and so does a node that was given its own job again. */
function worksOn(plan: Plan, job: JobRow, ref: LeaseRef): EarlierLease | undefined {
  const earlier = overtaking(plan, job, ref);
  if (earlier === undefined || (earlier.expires_at ?? 0) <= plan.now) return undefined;
  const isItsOwnAgain = isHeld(job.state) && job.node_id === ref.node_id;
  return earlier.why === "stuck" || isItsOwnAgain ? earlier : undefined;
}

/**
 * A lease that lapsed by silence is its holder's again when it is heard, if nobody has had the job since: a machine that slept
 * loses nothing that nobody else has begun. Not after the attempt's own time was up, nor when it was told to stop.
 */
function revived(parts: QueueState, plan: Plan, ref: LeaseRef): JobRow | undefined {
  const job = plan.job(seqOf(ref.work_id));
  if (job === undefined || !isFor(job, ref) || job.lapsed_attempts === null || job.expires_at === null)
    return undefined;
  if (job.state !== "pending" && job.state !== "delayed") return undefined;
  const back = plan.move(job, "revive", job.started_at === null ? "claimed" : "running", {
    attempts: job.lapsed_attempts,
    lapsed_attempts: null,
    earlier: withoutLease(job),
    not_before: null,
    outcome: null,
  });
  parts.times.resume(back);
  if (back.state === "running") plan.emit("TASK_SPAWNED", taskOf(plan, back));
  return back;
}

/** The holder begins: from here on the attempt's own time runs. */
export function startJob(parts: QueueState, plan: Plan, ref: LeaseRef, pid?: number): { expires_at: number } {
  const job = revived(parts, plan, ref) ?? heldJob(plan, ref);
  // The answer to the first one was lost.
  if (job.state === "running") return { expires_at: job.expires_at! };
  return { expires_at: beginAttempt(parts, plan, job, true, pid).expires_at! };
}

/** What a lease has left is counted while the queue listens; after a pause, or when a clock was set, its ends are told anew. */
function movedEnds(parts: QueueState, plan: Plan, job: JobRow): JobChanges {
  const left = parts.times.left(job);
  // Instants are whole milliseconds; what was listened need not be.
  const movedMs = Math.round(plan.now + left.expiresMs - job.expires_at!);
  if (Math.abs(movedMs) <= 1_000) return {};
  return {
    expires_at: job.expires_at! + movedMs,
    ...(left.stopMs === null ? {} : { stop_by: Math.round(plan.now + left.stopMs) }),
  };
}

/** How far it is, in a form that can be compared; undefined where nothing is told. */
const toldBy = ({ progress, games, metrics }: Progress): string | undefined =>
  progress === undefined && games === undefined && metrics === undefined
    ? undefined
    : canonicalJson({ ...defined({ progress, games, metrics: metrics && boundedMetrics(metrics) }) });

/** The holder lives; what it shall do comes back. */
export function beatJob(parts: QueueState, plan: Plan, ref: LeaseRef, how: Progress = {}): BeatAnswer {
  const known = plan.job(seqOf(ref.work_id));
  if (known?.state === "cancelled" && isFor(known, ref))
    return {
      beat_by: plan.now,
      expires_at: plan.now,
      stop: { kind: "cancelled", reason: known.stop_reason ?? "cancelled", by: plan.now },
    };
  // It failed by that silence and is done after all if its result comes: until then it may work on.
  if (known?.state === "failed" && known.expires_at !== null && takesLate(plan, known, ref))
    return { beat_by: plan.now + parts.lease.silentMs, expires_at: known.expires_at, stop: null };
  const earlier = known === undefined ? undefined : worksOn(plan, known, ref);
  if (earlier !== undefined)
    return { beat_by: plan.now + parts.lease.silentMs, expires_at: earlier.expires_at!, stop: null };
  const job = revived(parts, plan, ref) ?? heldJob(plan, ref);
  parts.times.heard(job, toldBy(how));
  const progress = how.progress === undefined ? job.progress : Math.max(0, Math.min(1, how.progress));
  const changes: JobChanges = {
    beat_by: plan.now + parts.lease.silentMs,
    ...(progress === job.progress ? {} : { progress }),
    ...(job.unheard === null ? {} : { unheard: null }),
    ...movedEnds(parts, plan, job),
    ...(how.metrics === undefined ? {} : { metrics: canonicalJson(boundedMetrics(how.metrics)) }),
  };
  const alive = plan.move(job, "beat", job.state, changes);
  if (alive.state === "running")
    plan.emit("TASK_HEARTBEAT", {
      ...taskOf(plan, alive),
      duration_seconds: durationOf(plan, alive),
      ...defined({ progress: progress ?? undefined, games: how.games }),
    });
  const { stop_reason, stop_by } = alive;
  return {
    beat_by: alive.beat_by!,
    expires_at: alive.expires_at!,
    stop: stop_by === null ? null : { kind: "preempted", reason: stop_reason ?? "", by: stop_by },
  };
}

/**
 * Its lease lapsed without a word of its holder, and nobody has had the job since: what was done meanwhile is as good as
 * ever. A job that failed because of that silence is done after all, unless another of its dedup key took its place.
 */
function takesLate(plan: Plan, job: JobRow, ref: LeaseRef): boolean {
  if (!isFor(job, ref) || job.lapsed_attempts === null) return false;
  if (job.state === "failed") return otherOfItsKey(plan, job) === undefined;
  return job.state === "pending" || job.state === "delayed";
}

/** What the job was asked for. */
function parametersOf(plan: Plan, { seq }: JobRow): Readonly<Record<string, Json>> {
  const [row] = plan.read<{ payload: string }>("SELECT payload FROM work_inputs WHERE seq = ?", seq);
  const { parameters } = JSON.parse(row?.payload ?? "{}") as { parameters?: Json };
  return typeof parameters === "object" && parameters !== null ? (parameters as Record<string, Json>) : {};
}

/** The job stays its holder's: it brings the file and says the same again. */
const withoutFile = ({ work_id }: LeaseRef, { name, sha256 }: { readonly name: string; readonly sha256: string }) =>
  OperatingError.busy(RESULT_FILE_MISSING, `job ${work_id} is not done: its file '${name}' is not in the store`, {
    hint: `Send it first (PUT /v1/artifacts/${sha256}), then say again that the job is done.`,
    details: { sha256 },
  });

/** What is known of the files of a result before it is taken. */
interface ResultFiles {
  readonly missing: ReadonlySet<string>;
  readonly fault: string | undefined;
}
const NO_FILES: ResultFiles = { missing: new Set(), fault: undefined };

/** Whoever uses such a file fails, and would be blamed for it. */
const unusable = (fault: string) =>
  OperatingError.invalid("WORK_EVIDENCE_UNUSABLE", `the result cannot be used: ${fault}`, {
    hint: "Bring the files that this kind of job makes, or report a failure.",
  });

/** Done, with evidence. Said again by the same holder it changes nothing: the answer to the first one was lost. */
export function completeJob(
  parts: QueueState,
  plan: Plan,
  ref: LeaseRef,
  given: EvidenceInput,
  files: ResultFiles = NO_FILES,
): { readonly repeated: boolean } {
  const known = plan.job(seqOf(ref.work_id));
  if (known?.state === "completed" && isWinner(known, ref)) return { repeated: true };
  const isLate = known !== undefined && takesLate(plan, known, ref);
  const earlier = known === undefined || isLate ? undefined : overtaking(plan, known, ref);
  const job = isLate
    ? { ...known, attempts: known.lapsed_attempts! }
    : earlier === undefined
      ? heldJob(plan, ref)
      : { ...known!, ...attemptOf(earlier) };
  const { evidence, text } = checkEvidence(
    kindOf(parts.kinds, plan.laneOf(job).workType).evidence,
    given,
    parts.limits.maxEvidence,
    () => parametersOf(plan, job),
  );
  const awaited = evidence.outputs.find(({ sha256 }) => files.missing.has(sha256));
  if (awaited !== undefined) throw withoutFile(ref, awaited);
  if (files.fault !== undefined) throw unusable(files.fault);
  const item = itemOf(plan, job);
  const duration_seconds = durationOf(plan, job);
  const result = evidence as unknown as Record<string, never>;
  const [only] = evidence.outputs;
  const done = { finished_at: plan.now, outcome: text };
  // Whatever was said of the attempt when its lease lapsed stands: as a task it has ended, and is not ended again.
  if (isLate) plan.move(job, "late", "completed", { ...done, attempts: job.attempts, not_before: null });
  else if (earlier !== undefined) overtake(plan, known!, earlier, done);
  else plan.move(job, "complete", "completed", done);
  if (job.state === "running" && earlier === undefined) {
    // What lapsed meanwhile, or was not seen from its beginning, is no measure for others: the wall clock may have been set.
    const ranMs = parts.times.ranMs(job);
    if (ranMs !== undefined) plan.measure(job, ranMs);
    plan.emit("TASK_COMPLETED", { ...taskOf(plan, job), duration_seconds, result: evidence.counts });
  }
  plan.emit("WORK_COMPLETED", {
    ...item,
    node_id: ref.node_id,
    attempts: job.attempts,
    duration_seconds,
    result,
    ...(evidence.outputs.length === 1 ? { artifact_hash: only!.sha256 } : {}),
  });
  return { repeated: false };
}

/** Whose result the job has. */
function isWinner(job: JobRow, ref: LeaseRef): boolean {
  const winner = winnerOf(job) ?? job;
  return winner.fence === ref.fence && winner.node_id === ref.node_id;
}

/** What the books hold of an attempt. */
const attemptOf = ({ node_id, attempts, claimed_at, started_at }: EarlierLease) => ({
  node_id,
  attempts,
  claimed_at,
  started_at,
});

/** An earlier holder is the first: the books show its attempt, and whoever works on the job now learns of it at its next word. */
function overtake(plan: Plan, job: JobRow, earlier: EarlierLease, done: JobChanges): void {
  if (job.state === "running") {
    const reason = `node ${earlier.node_id}, which had the job before, was the first with its result`;
    plan.emit("TASK_CANCELLED", { ...taskOf(plan, job), reason });
  }
  plan.move(job, "overtake", "completed", {
    ...done,
    ...attemptOf(earlier),
    not_before: null,
    stop_reason: null,
    stop_by: null,
    lapsed_attempts: null,
    earlier: withWinner(job, earlier),
  });
}

export type AfterFailure = { readonly again: boolean; readonly retry_at: number | null };

/** The attempt failed; its class decides what follows. */
export function failJob(parts: QueueState, plan: Plan, ref: LeaseRef, given: WorkFailure): AfterFailure {
  const parsed = failureSchema().safeParse(given);
  if (!parsed.success)
    throw OperatingError.invalid(
      "WORK_FAILURE_INVALID",
      `this is not a failure report: ${z.prettifyError(parsed.error)}`,
      {
        hint: `Give its class (${FAILURE_CLASSES.join(", ")}) and its error.`,
      },
    );
  const failure = parsed.data;
  const job = heldJob(plan, ref);
  const error = headOf(failure.error, parts.limits.maxError);
  if (!retryRules[failure.class].spends) return giveBack(parts, plan, job, "release", error);
  const stderr = failure.stderr_tail === undefined ? undefined : tailOf(failure.stderr_tail, parts.limits.maxStderr);
  const verdict = judgeRetry(failure.class, job.attempts, job.max_attempts, parts.random);
  if (job.state === "running")
    plan.emit("TASK_FAILED", {
      ...taskOf(plan, job),
      error,
      retryable: verdict.again,
      duration_seconds: durationOf(plan, job),
      ...defined({ error_code: failure.error_code }),
    });
  return endAttempt(plan, job, "fail", verdict, { error, code: failure.error_code, stderr });
}

interface Why {
  readonly error: string;
  readonly code?: string | undefined;
  readonly stderr?: string | undefined;
}

/** What a lease that lapses leaves behind: its attempt, and no time if its holder may not go on. */
const lapsedLease = (plan: Plan, job: JobRow, why: LapseReason, mayGoOn: boolean): JobChanges => ({
  lapsed_attempts: job.attempts,
  earlier: withLapsed(job, why, plan.now),
  ...(mayGoOn && job.stop_by === null ? {} : { expires_at: null }),
});

/** The attempt is spent: the job waits for its next one, or has failed for good. */
export function endAttempt(
  plan: Plan,
  job: JobRow,
  action: "fail" | "silent" | "expire",
  verdict: { again: false } | { again: true; afterMs: number },
  { error, code, stderr }: Why,
): AfterFailure {
  const outcome = failedOutcome(error, code, stderr);
  if (!verdict.again) {
    plan.move(job, action, "failed", {
      finished_at: plan.now,
      outcome,
      // Too long is too long; silence may have had another reason.
      ...(action === "silent" ? lapsedLease(plan, job, action, true) : {}),
    });
    emitFailed(plan, job, error, code);
    return { again: false, retry_at: null };
  }
  const retryAt = plan.now + verdict.afterMs;
  plan.move(job, action, "delayed", {
    not_before: retryAt,
    outcome,
    stop_reason: null,
    stop_by: null,
    ...(action === "fail" ? {} : lapsedLease(plan, job, action, action === "silent")),
  });
  emitRetry(plan, job, error, retryAt);
  return { again: true, retry_at: retryAt };
}

/**
 * The job comes back without having spent its attempt: its holder stops, was stopped, or is lost through no fault of the
 * job. One that keeps coming back pays for it in the end, so that nothing goes round for ever.
 */
export function giveBack(
  parts: QueueState,
  plan: Plan,
  job: JobRow,
  action: "release" | "evict" | "silent" | "stuck",
  reason: string,
  saved?: SavedInput,
): AfterFailure {
  const free = job.returns < parts.limits.maxReturns;
  const attempts = free ? job.attempts - 1 : job.attempts;
  // One that lives and does not go on has no claim to the job any more; only its result counts.
  const lapsed = action === "release" ? {} : lapsedLease(plan, job, action, action !== "stuck");
  if (action === "release") plan.emit("TASK_ABANDONED", { ...taskOf(plan, job), reason });
  else
    plan.emit("TASK_ORPHANED", {
      ...taskOf(plan, job),
      reason,
      last_seen_at: ((job.beat_by ?? plan.now) - parts.lease.silentMs) / 1_000,
    });
  if (!free && attempts >= job.max_attempts) {
    const error = `it came back ${job.returns + 1} times; the last time: ${reason}`;
    plan.move(job, action, "failed", {
      finished_at: plan.now,
      outcome: failedOutcome(error, "WORK_RETURNED_TOO_OFTEN"),
      ...lapsed,
    });
    emitFailed(plan, job, error, "WORK_RETURNED_TOO_OFTEN");
    return { again: false, retry_at: null };
  }
  plan.move(job, action, "pending", {
    attempts,
    returns: job.returns + 1,
    // What it had waited before counts on.
    ready_at: plan.now - Math.max(0, (job.claimed_at ?? plan.now) - job.ready_at),
    stop_reason: null,
    stop_by: null,
    ...lapsed,
    ...(saved === undefined ? {} : { saved: savedBy(plan, job, saved) }),
  });
  return { again: true, retry_at: plan.now };
}

const savedBy = (plan: Plan, { node_id, fence }: JobRow, saved: SavedInput): string =>
  canonicalJson({ ...savedSchema().parse(saved), node_id: node_id!, fence, at: plan.now });

/** The holder stops and gives the job back; no attempt is spent. What it saved comes to the next one. */
export function releaseJob(
  parts: QueueState,
  plan: Plan,
  ref: LeaseRef,
  reason: string,
  saved?: SavedInput,
): AfterFailure {
  return giveBack(parts, plan, heldJob(plan, ref), "release", headOf(reason, parts.limits.maxError), saved);
}

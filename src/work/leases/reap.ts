import { isForOthersOfItsKind } from "../claims/untaken.ts";
import { stuckOn } from "../job/earlier-leases.ts";
import { columnsOf, type JobRow, workIdOf } from "../job/job.ts";
import { headOf, judgeRetry } from "../job/retry-rules.ts";
import { isHeld } from "../job/states.ts";
import { durationOf, emitFailed, failedOutcome, itemOf, taskOf } from "../queue/job-events.ts";
import type { WhyOver } from "../queue/lease-times.ts";
import type { Plan } from "../queue/plan.ts";
import type { QueueState } from "../queue/queue-state.ts";
import { endAttempt, giveBack } from "./lease.ts";

/** What one pass of the reaper ended. */
export interface Reaped {
  readonly silent: number;
  readonly expired: number;
  readonly stopped: number;
  /** They were heard and did not go on. */
  readonly stuck: number;
  readonly lapsed: number;
  readonly dependents: number;
}

/** A job that did not go on, and whose it was. */
export interface StuckJob {
  readonly work_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly node_id: string;
  readonly idle_ms: number;
}

/** What one pass of the reaper found. */
export interface ReapPass {
  readonly counts: Reaped;
  /** Given to another. */
  readonly stuckJobs: readonly StuckJob[];
  /** They do not go on, and stay where they are: nobody else could take them. */
  readonly unrelieved: readonly StuckJob[];
}

const LAPSED = `SELECT ${columnsOf("j")} FROM work_jobs j INDEXED BY work_deadlines
  WHERE deadline IS NOT NULL AND state IN ('pending', 'delayed', 'blocked') AND deadline <= ? LIMIT ?`;
const BROKEN = `SELECT ${columnsOf("b")}, min(j.seq) AS broken, j.state AS broken_state
  FROM work_jobs b INDEXED BY work_blocked
  JOIN work_dependencies d ON d.seq = b.seq JOIN work_jobs j ON j.seq = d.depends_on
  WHERE b.state = 'blocked' AND j.state IN ('failed', 'cancelled') GROUP BY b.seq LIMIT ?`;

const REAP_AT_ONCE = 500;

/** Ends all that is overdue, a part of it with each change. */
export async function reapAll(
  parts: QueueState,
  change: <T>(decide: (plan: Plan) => T) => Promise<T>,
): Promise<Reaped & Pick<ReapPass, "stuckJobs" | "unrelieved">> {
  const counts = { silent: 0, expired: 0, stopped: 0, stuck: 0, lapsed: 0, dependents: 0 };
  const stuckJobs: StuckJob[] = [];
  for (;;) {
    const pass = await change((plan) => reap(parts, plan, REAP_AT_ONCE));
    for (const key of Object.keys(counts) as (keyof Reaped)[]) counts[key] += pass.counts[key];
    stuckJobs.push(...pass.stuckJobs);
    // What failed may have dependents of its own: until nothing more falls.
    if (Object.values(pass.counts).every((n) => n === 0)) return { ...counts, stuckJobs, unrelieved: pass.unrelieved };
  }
}

/** Ends what is overdue, at most so many of each sort. */
function reap(parts: QueueState, plan: Plan, max: number): ReapPass {
  const counts = { silent: 0, expired: 0, stopped: 0, stuck: 0, lapsed: 0, dependents: 0 };
  const stuckJobs: StuckJob[] = [];
  const { overdue, unrelieved } = overdueJobs(parts, plan, max);
  for (const { job, why } of overdue) {
    if (why === "stuck") stuckJobs.push(giveToAnother(parts, plan, job));
    else endOverdue(parts, plan, job, why);
    counts[why] += 1;
  }
  for (const row of plan.read<JobRow>(LAPSED, plan.now, max)) {
    const job = plan.found(row);
    if (job === undefined) continue;
    const error = "its deadline passed before it was done";
    plan.move(job, "lapse", "failed", {
      finished_at: plan.now,
      outcome: failedOutcome(error, "JOB_TOO_LATE"),
      lapsed_attempts: null,
      earlier: null,
    });
    emitFailed(plan, job, error, "JOB_TOO_LATE");
    counts.lapsed += 1;
  }
  for (const { broken, broken_state, ...row } of plan.read<JobRow & { broken: number; broken_state: string }>(
    BROKEN,
    max,
  )) {
    const job = plan.found(row);
    if (job === undefined) continue;
    const error = `job ${workIdOf(broken)}, which it waited for, ${broken_state === "failed" ? "failed" : "was cancelled"}`;
    plan.move(job, "dependency", "failed", {
      finished_at: plan.now,
      outcome: failedOutcome(error, "WORK_DEPENDENCY_FAILED"),
    });
    emitFailed(plan, job, error, "WORK_DEPENDENCY_FAILED");
    counts.dependents += 1;
  }
  return { counts, stuckJobs, unrelieved };
}

/** Held jobs whose lease is over. Those that are being changed already are left to the next look. */
function overdueJobs(parts: QueueState, plan: Plan, max: number) {
  const overdue: { job: JobRow; why: WhyOver }[] = [];
  const unrelieved: StuckJob[] = [];
  for (const seq of parts.times.overdue()) {
    if (overdue.length >= max) break;
    const job = plan.job(seq);
    if (job === undefined || !isHeld(job.state)) {
      parts.times.forget(seq);
      continue;
    }
    const why = plan.found(job) === undefined ? undefined : parts.times.whyOver(job);
    if (why === "stuck" && isTheOnlyOne(parts, plan, job)) unrelieved.push(stuckJob(parts, plan, job));
    else if (why !== undefined) overdue.push({ job, why });
  }
  return { overdue, unrelieved };
}

/** Of a kind that nobody knows the job may simply be long: taken from the only one who does it, it would be begun twice there. */
const isTheOnlyOne = (parts: QueueState, plan: Plan, job: JobRow): boolean =>
  parts.times.idle(job).isGuess &&
  !isForOthersOfItsKind(parts, plan.laneOf(job), [...stuckOn(job), job.node_id!], plan.now);

function endOverdue(parts: QueueState, plan: Plan, job: JobRow, why: Exclude<WhyOver, "stuck">): void {
  if (why === "expired") expire(parts, plan, job);
  else if (why === "stopped") {
    const reason = headOf(`it did not stop in time: ${job.stop_reason ?? ""}`, parts.limits.maxError);
    giveBack(parts, plan, job, "evict", reason);
  } else fallSilent(parts, plan, job);
}

/** Its holder is heard, and the job does not go on: somebody else has a try, and the first result counts. */
function giveToAnother(parts: QueueState, plan: Plan, job: JobRow): StuckJob {
  const told = stuckJob(parts, plan, job);
  giveBack(parts, plan, job, "stuck", `no progress for ${Math.round(told.idle_ms / 1_000)} s`);
  return told;
}

function stuckJob(parts: QueueState, plan: Plan, job: JobRow): StuckJob {
  const { workType, configKey } = plan.laneOf(job);
  return {
    work_id: workIdOf(job.seq),
    work_type: workType,
    config_key: configKey,
    node_id: job.node_id!,
    idle_ms: Math.round(parts.times.idle(job).ms),
  };
}

function fallSilent(parts: QueueState, plan: Plan, job: JobRow): void {
  const silentSeconds = parts.times.silentMs(job) / 1_000;
  const reason = `no sign of life for ${Math.round(silentSeconds)} s`;
  if (job.state === "claimed" || job.unheard === 1) giveBack(parts, plan, job, "silent", reason);
  else {
    plan.emit("TASK_ORPHANED", {
      ...taskOf(plan, job),
      reason,
      last_seen_at: (job.beat_by! - parts.lease.silentMs) / 1_000,
      silent_seconds: silentSeconds,
    });
    const verdict = judgeRetry("retryable", job.attempts, job.max_attempts, parts.random);
    endAttempt(plan, job, "silent", verdict, { error: reason, code: "JOB_HOLDER_SILENT" });
  }
}

function expire(parts: QueueState, plan: Plan, job: JobRow): void {
  const tooLate = job.deadline !== null && job.deadline <= plan.now;
  const error = tooLate
    ? "its deadline passed before it was done"
    : `the attempt took longer than ${job.timeout_ms / 1_000} s`;
  const code = tooLate ? "JOB_TOO_LATE" : "JOB_ATTEMPT_EXPIRED";
  const verdict = tooLate
    ? ({ again: false } as const)
    : judgeRetry("retryable", job.attempts, job.max_attempts, parts.random);
  if (job.state === "running")
    plan.emit("TASK_FAILED", {
      ...taskOf(plan, job),
      error,
      retryable: verdict.again,
      error_code: code,
      duration_seconds: durationOf(plan, job),
    });
  plan.emit("WORK_TIMEOUT", {
    ...itemOf(plan, job),
    node_id: job.node_id!,
    attempts: job.attempts,
    timeout_seconds: job.timeout_ms / 1_000,
    will_retry: verdict.again,
  });
  endAttempt(plan, job, "expire", verdict, { error, code });
}

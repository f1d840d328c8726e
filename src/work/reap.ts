import { headOf, judgeRetry } from "./failure.ts";
import { columnsOf, type JobRow, workIdOf } from "./job.ts";
import { endAttempt, giveBack } from "./lease.ts";
import type { Plan } from "./plan.ts";
import type { QueueParts } from "./queue-parts.ts";
import { durationOf, failedOutcome, itemOf, sayFailed, taskOf } from "./told.ts";

/** What one pass of the reaper ended. */
export interface Reaped {
  readonly silent: number;
  readonly expired: number;
  readonly stopped: number;
  readonly lapsed: number;
  readonly dependents: number;
}

const OVERDUE = `SELECT ${columnsOf("j")} FROM work_jobs j INDEXED BY work_held WHERE state IN ('claimed', 'running')
  AND (beat_by <= ?1 OR expires_at <= ?1 OR stop_by <= ?1) LIMIT ?2`;
const LAPSED = `SELECT ${columnsOf("j")} FROM work_jobs j INDEXED BY work_deadlines
  WHERE deadline IS NOT NULL AND state IN ('pending', 'delayed', 'blocked') AND deadline <= ? LIMIT ?`;
const BROKEN = `SELECT ${columnsOf("b")}, min(j.seq) AS broken, j.state AS broken_state
  FROM work_jobs b INDEXED BY work_blocked
  JOIN work_dependencies d ON d.seq = b.seq JOIN work_jobs j ON j.seq = d.depends_on
  WHERE b.state = 'blocked' AND j.state IN ('failed', 'cancelled') GROUP BY b.seq LIMIT ?`;

/** Ends what is overdue, at most so many of each sort. */
export function reap(parts: QueueParts, plan: Plan, most: number): Reaped {
  const counts = { silent: 0, expired: 0, stopped: 0, lapsed: 0, dependents: 0 };
  for (const row of plan.read<JobRow>(OVERDUE, plan.now, most)) {
    const job = plan.found(row);
    if (job !== undefined) counts[endOverdue(parts, plan, job)] += 1;
  }
  for (const row of plan.read<JobRow>(LAPSED, plan.now, most)) {
    const job = plan.found(row);
    if (job === undefined) continue;
    const error = "its deadline passed before it was done";
    plan.move(job, "lapse", "failed", {
      finished_at: plan.now,
      outcome: failedOutcome(error, "JOB_TOO_LATE"),
      lapsed_attempts: null,
    });
    sayFailed(plan, job, error, "JOB_TOO_LATE");
    counts.lapsed += 1;
  }
  for (const { broken, broken_state, ...row } of plan.read<JobRow & { broken: number; broken_state: string }>(
    BROKEN,
    most,
  )) {
    const job = plan.found(row);
    if (job === undefined) continue;
    const error = `job ${workIdOf(broken)}, which it waited for, ${broken_state === "failed" ? "failed" : "was cancelled"}`;
    plan.move(job, "dependency", "failed", {
      finished_at: plan.now,
      outcome: failedOutcome(error, "WORK_DEPENDENCY_FAILED"),
    });
    sayFailed(plan, job, error, "WORK_DEPENDENCY_FAILED");
    counts.dependents += 1;
  }
  return counts;
}

/** The attempt's own time comes first: it is known, and a silent holder is only supposed to be gone. */
function endOverdue(parts: QueueParts, plan: Plan, job: JobRow): "silent" | "expired" | "stopped" {
  if (job.expires_at! <= plan.now) {
    expire(parts, plan, job);
    return "expired";
  }
  if (job.stop_by !== null && job.stop_by <= plan.now) {
    giveBack(
      parts,
      plan,
      job,
      "evict",
      headOf(`it did not stop in time: ${job.stop_reason ?? ""}`, parts.limits.mostError),
    );
    return "stopped";
  }
  const silentSeconds = (plan.now - job.beat_by! + parts.lease.silentMs) / 1_000;
  const reason = `no sign of life for ${Math.round(silentSeconds)} s`;
  if (job.state === "claimed" || job.unheard === 1) giveBack(parts, plan, job, "silent", reason);
  else {
    plan.say("TASK_ORPHANED", {
      ...taskOf(plan, job),
      reason,
      last_seen_at: (job.beat_by! - parts.lease.silentMs) / 1_000,
      silent_seconds: silentSeconds,
    });
    const verdict = judgeRetry("retryable", job.attempts, job.max_attempts, parts.random);
    endAttempt(plan, job, "silent", verdict, { error: reason, code: "JOB_HOLDER_SILENT" });
  }
  return "silent";
}

function expire(parts: QueueParts, plan: Plan, job: JobRow): void {
  const tooLate = job.deadline !== null && job.deadline <= plan.now;
  const error = tooLate
    ? "its deadline passed before it was done"
    : `the attempt took longer than ${job.timeout_ms / 1_000} s`;
  const code = tooLate ? "JOB_TOO_LATE" : "JOB_ATTEMPT_EXPIRED";
  const verdict = tooLate
    ? ({ again: false } as const)
    : judgeRetry("retryable", job.attempts, job.max_attempts, parts.random);
  if (job.state === "running")
    plan.say("TASK_FAILED", {
      ...taskOf(plan, job),
      error,
      retryable: verdict.again,
      error_code: code,
      duration_seconds: durationOf(plan, job),
    });
  plan.say("WORK_TIMEOUT", {
    ...itemOf(plan, job),
    node_id: job.node_id!,
    attempts: job.attempts,
    timeout_seconds: job.timeout_ms / 1_000,
    will_retry: verdict.again,
  });
  endAttempt(plan, job, "expire", verdict, { error, code });
}

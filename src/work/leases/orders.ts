import { defined, OperatingError } from "../../kernel/index.ts";
import { columnsOf, type JobRow, notFound, seqOf, workIdOf } from "../job/job.ts";
import { kindOf } from "../job/kinds.ts";
import { headOf } from "../job/retry-rules.ts";
import { isFinished, isHeld, type JobState } from "../job/states.ts";
import { priorityOf, URGENCIES } from "../job/urgency.ts";
import { otherOfItsKey } from "../queue/dedup.ts";
import { durationOf, failedOutcome, itemOf, taskOf } from "../queue/job-events.ts";
import type { Plan } from "../queue/plan.ts";
import type { QueueState } from "../queue/queue-state.ts";
import { giveBack } from "./lease.ts";

export interface OrderOptions {
  readonly reason: string;
  readonly requested_by?: string;
  /** Only say what would become of it. */
  readonly dryRun?: boolean;
}

function jobOf(plan: Plan, workId: string): JobRow {
  const job = plan.job(seqOf(workId));
  if (job === undefined) throw notFound(workId);
  return job;
}

const by = ({ requested_by }: OrderOptions) => (requested_by === undefined ? {} : { requested_by });

/** Takes a job back. Its holder, if it has one, is told at its next beat, and what it says after this is refused. */
export function cancelJob(parts: QueueState, plan: Plan, workId: string, options: OrderOptions): { state: JobState } {
  const job = jobOf(plan, workId);
  if (job.state === "cancelled") return { state: "cancelled" };
  if (isFinished(job.state))
    throw OperatingError.conflict("JOB_FINISHED", `job ${workId} is ${job.state} already`, {
      hint: "There is nothing to cancel.",
    });
  const reason = headOf(options.reason, parts.limits.maxError);
  if (job.state === "running") plan.emit("TASK_CANCELLED", { ...taskOf(plan, job), reason, ...by(options) });
  plan.move(job, "cancel", "cancelled", {
    finished_at: plan.now,
    stop_reason: reason,
    outcome: failedOutcome(reason, "JOB_CANCELLED"),
  });
  plan.emit("WORK_CANCELLED", {
    ...itemOf(plan, job),
    reason,
    ...(isHeld(job.state) ? { node_id: job.node_id! } : {}),
    ...by(options),
  });
  return { state: "cancelled" };
}

/** Asks the holder of a job to stop and give it back; it learns of it at its next beat and has a time to obey. */
export function preemptJob(
  parts: QueueState,
  plan: Plan,
  workId: string,
  { reason, for: other }: { readonly reason: string; readonly for?: string },
): { readonly asked: boolean } {
  const job = jobOf(plan, workId);
  if (!isHeld(job.state))
    throw OperatingError.conflict("JOB_NOT_HELD", `job ${workId} is ${job.state}, and nobody holds it`, {
      hint: "Only a claimed or running job can be preempted; cancel it instead.",
    });
  if (!kindOf(parts.kinds, plan.laneOf(job).workType).preemptible)
    throw OperatingError.conflict("JOB_NOT_PREEMPTIBLE", `job ${workId} cannot be preempted`, {
      hint: "Its kind does not allow it; cancel it if it must end.",
    });
  if (job.stop_by !== null) return { asked: false };
  const why = headOf(reason, parts.limits.maxError);
  parts.times.stop(job, parts.lease.graceMs);
  plan.move(job, "preempt", job.state, { stop_reason: why, stop_by: plan.now + parts.lease.graceMs });
  plan.emit("JOB_PREEMPTED", {
    ...itemOf(plan, job),
    node_id: job.node_id!,
    reason: why,
    duration_seconds: durationOf(plan, job),
    ...defined({ preempting_work_id: other }),
  });
  return { asked: true };
}

const HELD_BY = `SELECT ${columnsOf("j")} FROM work_jobs j INDEXED BY work_held
  WHERE state IN ('claimed', 'running') AND node_id = ? LIMIT ?`;

/** The node is lost: what it held comes back at once, a class more urgent, and no attempt is spent. */
export function evictNode(parts: QueueState, plan: Plan, nodeId: string, reason: string): { readonly moved: string[] } {
  const held = plan.read<JobRow>(HELD_BY, nodeId, parts.limits.maxInCall).flatMap((row) => plan.found(row) ?? []);
  for (const job of held) {
    const { again } = giveBack(parts, plan, job, "evict", headOf(reason, parts.limits.maxError));
    const back = plan.job(job.seq)!;
    // As urgent as what was asked for, at most one below the orders that overtake.
    if (again && back.urgency < URGENCIES.length - 2) plan.raise(back);
  }
  return { moved: held.map(({ seq }) => workIdOf(seq)) };
}

/** Somebody wants a job that failed or was cancelled tried again, with all its attempts. */
export function retryJob(parts: QueueState, plan: Plan, workId: string, options: OrderOptions): { state: JobState } {
  const job = jobOf(plan, workId);
  if (job.state !== "failed" && job.state !== "cancelled")
    throw OperatingError.conflict("JOB_NOT_FAILED", `job ${workId} is ${job.state}`, {
      hint: "Only a failed or cancelled job can be tried again.",
    });
  if (job.deadline !== null && job.deadline <= plan.now)
    throw OperatingError.conflict("JOB_TOO_LATE", `the deadline of job ${workId} has passed`, {
      hint: "Add it again.",
    });
  if (parts.unfinished + plan.unfinished >= parts.limits.maxUnfinished)
    throw OperatingError.busy(
      "WORK_QUEUE_FULL",
      `${parts.limits.maxUnfinished} jobs are unfinished; no more are accepted`,
    );
  const other = otherOfItsKey(plan, job);
  if (other !== undefined)
    throw OperatingError.conflict("WORK_DUPLICATE", `job ${workIdOf(other)} replaced ${workId}`, {
      hint: "It has the same dedup key: use that job.",
    });
  const open = plan.read<{ seq: number; state: JobState }>(
    `SELECT j.seq, j.state FROM work_dependencies d JOIN work_jobs j ON j.seq = d.depends_on
     WHERE d.seq = ? AND j.state <> 'completed'`,
    job.seq,
  );
  const broken = open.find(({ state }) => isFinished(state));
  if (broken !== undefined)
    throw OperatingError.conflict(
      "WORK_DEPENDENCY_FAILED",
      `job ${workIdOf(broken.seq)}, which it waits for, is ${broken.state}`,
      {
        hint: "Retry that job first.",
      },
    );
  const state = open.length > 0 ? "blocked" : "pending";
  plan.move(job, "retry", state, {
    attempts: 0,
    returns: 0,
    ready_at: plan.now,
    not_before: null,
    finished_at: null,
    outcome: null,
    stop_reason: null,
    stop_by: null,
    lapsed_attempts: null,
    earlier: null,
  });
  plan.emit("WORK_QUEUED", {
    ...itemOf(plan, job),
    priority: priorityOf(job.urgency),
    timeout_seconds: job.timeout_ms / 1_000,
    requested_by: options.requested_by ?? "retry",
  });
  return { state };
}

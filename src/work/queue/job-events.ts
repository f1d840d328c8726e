import type { PayloadFor } from "../../events/index.ts";
import { defined } from "../../kernel/index.ts";
import { type JobRow, taskIdOf, workIdOf } from "../job/job.ts";
import type { Lane } from "../job/needs.ts";
import type { Plan } from "./plan.ts";

type ConfigKey = NonNullable<PayloadFor<"WORK_QUEUED">["config_key"]>;
const configOf = ({ configKey }: Lane) => (configKey === null ? {} : { config_key: configKey as ConfigKey });

/** What every word about a job begins with. */
export const itemOf = (plan: Plan, job: JobRow) => {
  const lane = plan.laneOf(job);
  return { work_id: workIdOf(job.seq), work_type: lane.workType, ...configOf(lane) };
};

/** What every word about an attempt begins with. */
export const taskOf = (plan: Plan, job: JobRow) => ({
  task_id: taskIdOf(job.seq, job.fence),
  node_id: job.node_id ?? "unknown",
  ...itemOf(plan, job),
});

/** How long the attempt has lasted, since it began or was claimed. */
export const durationOf = (plan: Plan, job: JobRow): number =>
  Math.max(0, plan.now - (job.started_at ?? job.claimed_at ?? plan.now)) / 1_000;

/** A job that will not be tried again. */
export function emitFailed(plan: Plan, job: JobRow, error: string, errorCode: string | undefined): void {
  plan.emit("WORK_FAILED", {
    ...itemOf(plan, job),
    error,
    ...(job.attempts > 0 ? { attempts: job.attempts } : {}),
    ...defined({ error_code: errorCode }),
    ...(job.node_id === null ? {} : { node_id: job.node_id, duration_seconds: durationOf(plan, job) }),
  });
}

export function emitRetry(plan: Plan, job: JobRow, error: string, retryAt: number): void {
  plan.emit("WORK_RETRY", {
    ...itemOf(plan, job),
    error,
    attempts: Math.max(1, job.attempts),
    max_attempts: job.max_attempts,
    retry_at: retryAt / 1_000,
    ...defined({ node_id: job.node_id ?? undefined }),
  });
}

/** What a job that did not succeed leaves behind, for people. */
export interface FailedOutcome {
  readonly error: string;
  readonly error_code: string | null;
  readonly stderr_tail: string | null;
}

export const failedOutcome = (error: string, errorCode: string | undefined, stderrTail?: string): string =>
  JSON.stringify({
    error,
    error_code: errorCode ?? null,
    stderr_tail: stderrTail ?? null,
  } satisfies FailedOutcome);

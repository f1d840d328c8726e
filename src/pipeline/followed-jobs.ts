import type { JobView, WorkQueue } from "../work/index.ts";
import type { StageWork } from "./stage-work.ts";

/** What became of the jobs of a stage. Asked of the queue itself: it is right whatever events came or did not come. */
export interface FollowedJobs {
  readonly completed: readonly { readonly part: string; readonly job: JobView }[];
  /** Failed or cancelled for good; forgotten ones count as failed. */
  readonly failed: readonly {
    readonly part: string;
    readonly workId: string;
    readonly reason: string;
    readonly code: string;
  }[];
  /** Parts under way. */
  readonly open: readonly string[];
}

export function followJobs(queue: Pick<WorkQueue, "show">, jobs: StageWork["jobs"]): FollowedJobs {
  const completed: { part: string; job: JobView }[] = [];
  const failed: { part: string; workId: string; reason: string; code: string }[] = [];
  const open: string[] = [];
  for (const [part, workId] of Object.entries(jobs)) {
    const job = queue.show(workId);
    if (job?.state === "completed") completed.push({ part, job });
    else if (job === undefined || job.state === "failed" || job.state === "cancelled")
      failed.push({
        part,
        workId,
        reason: job === undefined ? "the queue has forgotten it" : (job.failure?.error ?? job.state),
        code: job?.failure?.error_code ?? (job === undefined ? "JOB_NOT_FOUND" : `JOB_${job.state.toUpperCase()}`),
      });
    else open.push(part);
  }
  return { completed, failed, open };
}

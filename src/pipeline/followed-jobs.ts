import type { JobView, WorkQueue } from "../work/index.ts";
import type { Wait } from "./iteration.ts";
import { INPUT_LOST, NO_INPUT, type RebuildRow } from "./rebuild-rows.ts";
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
  /** Parts among those under way that wait for an input to be made again. */
  readonly awaiting: readonly { readonly part: string; readonly workId: string; readonly why: string }[];
}

/** What is waited for where inputs are lost, for `why`. */
export const awaitedInput = ({ awaiting }: Pick<FollowedJobs, "awaiting">): Omit<Wait, "since">[] =>
  awaiting
    .slice(0, 1)
    .map(({ workId, why }) => ({ for: "input", actual: `${workId}: ${why}`, required: "there again" }));

/**
 * A job whose input was lost has not failed while somebody makes that input again: it stays under way, and its stage is not
 * blamed. `rebuilds` is what is known of that; without it such a job has failed like any other.
 */
export function followJobs(
  queue: Pick<WorkQueue, "show">,
  jobs: StageWork["jobs"],
  rebuilds?: RebuildRow,
): FollowedJobs {
  const completed: { part: string; job: JobView }[] = [];
  const failed: { part: string; workId: string; reason: string; code: string }[] = [];
  const open: string[] = [];
  const awaiting: { part: string; workId: string; why: string }[] = [];
  for (const [part, workId] of Object.entries(jobs)) {
    const job = queue.show(workId);
    const awaited = rebuilds?.awaited[workId];
    const lacksInput = job?.state === "failed" && job.failure?.error_code === NO_INPUT && rebuilds !== undefined;
    if (lacksInput && awaited?.state === "given_up")
      failed.push({ part, workId, reason: `${job.failure!.error}: ${awaited.why}`, code: INPUT_LOST });
    else if (lacksInput) {
      awaiting.push({ part, workId, why: awaited?.why ?? "it could not be fetched, and was not looked at yet" });
      open.push(part);
    } else if (job?.state === "completed") completed.push({ part, job });
    else if (job === undefined || job.state === "failed" || job.state === "cancelled")
      failed.push({
        part,
        workId,
        reason: job === undefined ? "the queue has forgotten it" : (job.failure?.error ?? job.state),
        code: job?.failure?.error_code ?? (job === undefined ? "JOB_NOT_FOUND" : `JOB_${job.state.toUpperCase()}`),
      });
    else open.push(part);
  }
  return { completed, failed, open, awaiting };
}

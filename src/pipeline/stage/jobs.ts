/** The jobs of a stage: put out in the unit's commit, followed by asking the queue, taken back when nobody wants them. */
import { isOperatingError, messageOf, type OperatingError } from "../../kernel/index.ts";
import type { JobSpecInput, JobView, WorkQueue } from "../../work/index.ts";
import type { ConfigLook } from "./config-unit.ts";
import type { StageFailure } from "./iteration.ts";
import { INPUT_LOST, NO_INPUT, NO_REBUILDS, type RebuildRow, rebuildRows } from "./rebuilds.ts";
import type { StageServices } from "./services.ts";
import type { Waiting } from "./waits.ts";

/** Jobs in the queue, by the part of the work that each does. */
export type Jobs = { readonly [part: string]: string };

/** What a part needs beside what all parts of its batch have in common. */
export type PartJob = Omit<JobSpecInput, "config_key" | "batch_id" | "dedup_key" | "requested_by"> & {
  /** `batch:part` unless said: whoever asks for it again gets the same job. */
  readonly dedup_key?: string;
};

/** Adds jobs in the unit's commit. A refusal is an answer to wait on, not a fault of the unit: it shows in `why`. */
export function putJobs(
  queue: WorkQueue,
  look: ConfigLook<"WORK_QUEUED">,
  { batch, by, parts }: { readonly batch: string; readonly by: string; readonly parts: { [part: string]: PartJob } },
): { readonly jobs: Jobs } | { readonly refused: OperatingError } {
  const names = Object.keys(parts);
  if (names.length === 0) return { jobs: {} };
  const { gpus }: { readonly gpus: Readonly<Record<string, number>> } = look.plan;
  const specs = names.map((part) => ({
    dedup_key: `${batch}:${part}`,
    // One that asks for none stands in the line of all others.
    ...((gpus?.[parts[part]!.work_type] ?? 0) > 0 ? { needs: { gpu: gpus[parts[part]!.work_type]! } } : {}),
    ...parts[part]!,
    config_key: look.configKey,
    batch_id: batch,
    requested_by: by,
  }));
  try {
    const added = queue.join(look).addAll(specs);
    return { jobs: Object.fromEntries(names.map((part, n) => [part, added[n]!.work_id])) };
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    return { refused: thrown };
  }
}

export interface LostJob {
  readonly part: string;
  readonly workId: string;
  readonly reason: string;
  readonly code: string;
}

/** What became of the jobs of a stage. Asked of the queue itself: it is right whatever events came or did not come. */
export interface FollowedJobs {
  readonly completed: readonly { readonly part: string; readonly job: JobView }[];
  /** Failed or cancelled for good; forgotten ones count as failed. */
  readonly failed: readonly LostJob[];
  /** Parts under way. */
  readonly open: readonly string[];
  /** What is waited for where inputs of those under way are lost, for `why`. */
  readonly awaited: readonly Waiting[];
}

/** Follows jobs without regard to inputs that are made again: one that lacks an input has failed like any other. */
export function followJobs(queue: Pick<WorkQueue, "show">, jobs: Jobs, rebuilds?: RebuildRow): FollowedJobs {
  const completed: { part: string; job: JobView }[] = [];
  const failed: LostJob[] = [];
  const open: string[] = [];
  const awaited: Waiting[] = [];
  for (const [part, workId] of Object.entries(jobs)) {
    const job = queue.show(workId);
    const known = rebuilds?.awaited[workId];
    const lacksInput = job?.state === "failed" && job.failure?.error_code === NO_INPUT && rebuilds !== undefined;
    if (lacksInput && known?.state === "given_up")
      failed.push({ part, workId, reason: `${job.failure!.error}: ${known.why}`, code: INPUT_LOST });
    else if (lacksInput) {
      const why = known?.why ?? "it could not be fetched, and was not looked at yet";
      awaited.push({ for: "input", actual: `${workId}: ${why}`, required: "there again" });
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
  return { completed, failed, open, awaited: awaited.slice(0, 1) };
}

/**
 * The jobs of a stage. One whose input was lost has not failed while somebody makes that input again: it stays under way,
 * and its stage is not blamed.
 */
export const followStageJobs = (
  queue: Pick<WorkQueue, "show">,
  look: Pick<ConfigLook, "row">,
  jobs: Jobs,
): FollowedJobs => followJobs(queue, jobs, look.row(rebuildRows) ?? NO_REBUILDS);

/** What a lost job is to its stage. That an input is lost is told as such, whatever the job did. */
export const jobFailure = (code: string, what: string, lost: LostJob): StageFailure => ({
  code: lost.code === INPUT_LOST ? INPUT_LOST : code,
  message: `${what} ${lost.workId} of part ${lost.part} failed (${lost.code}): ${lost.reason}`,
  retryable: true,
});

/**
 * Parts whose jobs wait for a node that is not there: all workers for their kind that are may not have them. Whoever asked for
 * them asks anew, with those who are there.
 */
export function strandedParts(
  queue: Pick<WorkQueue, "show" | "placement">,
  jobs: Jobs,
  workers: readonly string[],
): ReadonlySet<string> {
  const stranded = Object.entries(jobs).filter(([, workId]) => {
    const excluded = queue.placement(workId)?.excluded ?? [];
    if (excluded.length === 0 || workers.length === 0 || !workers.every((node) => excluded.includes(node)))
      return false;
    const state = queue.show(workId)?.state;
    return state === "pending" || state === "delayed";
  });
  return new Set(stranded.map(([part]) => part));
}

/** Takes back a stranded job once another has its place; one that is begun after all does no harm. */
export function takeBackStranded(
  { queue }: Pick<StageServices, "queue">,
  { afterCommit, log }: Pick<ConfigLook, "afterCommit" | "log">,
  workId: string,
  requested_by: string,
  reason = "no connected worker may take it",
): void {
  const why = { reason, requested_by };
  const stays = (thrown: unknown) =>
    log.info("a job that was replaced could not be cancelled", { error: messageOf(thrown) });
  afterCommit(() => void queue.cancel(workId, why).catch(stays));
}

/**
 * Takes back what nobody wants any more. It is done before the caller's commit and may be done again: a job that has ended
 * or is forgotten is no longer in the way.
 */
export async function cancelJobs(
  queue: Pick<WorkQueue, "cancel" | "show">,
  workIds: readonly string[],
  reason: string,
  requested_by: string,
): Promise<void> {
  const isOpen = (workId: string) => {
    const state = queue.show(workId)?.state;
    return state !== undefined && state !== "completed" && state !== "failed" && state !== "cancelled";
  };
  for (const workId of workIds.filter(isOpen))
    try {
      await queue.cancel(workId, { reason, requested_by });
    } catch (thrown) {
      // It may have come to its end between the look and the order.
      if (isOpen(workId))
        throw new Error(`job ${workId} cannot be taken back: ${messageOf(thrown)}`, { cause: thrown });
    }
}

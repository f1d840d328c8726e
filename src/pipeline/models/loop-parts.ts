/** Small things that the units of training, evaluation and models have in common. */
import type { PayloadFor } from "../../events/index.ts";
import { type Json, messageOf } from "../../kernel/index.ts";
import type { WriteSet } from "../../router/index.ts";
import type { WorkQueue } from "../../work/index.ts";
import { type ConfigRow, configs } from "../config-plan.ts";
import type { StageFailure, Wait } from "../iteration.ts";
import type { StageWork } from "../stage-work.ts";

export type ConfigKey = PayloadFor<"MODEL_PROMOTED">["config_key"];

/** Runs one look for every config, in the order of their keys. */
export async function eachConfig(
  rows: Pick<WriteSet, "list">,
  look: (configKey: ConfigKey, config: ConfigRow) => void | Promise<void>,
): Promise<void> {
  for (const [configKey, config] of rows.list(configs)) await look(configKey as ConfigKey, config);
}

export const sameWaits = (a: readonly Wait[], b: readonly Wait[]): boolean =>
  a.length === b.length &&
  a.every((wait, i) => wait.for === b[i]!.for && wait.actual === b[i]!.actual && wait.required === b[i]!.required);

type Ended<Own extends Record<string, Json>> = Partial<Pick<StageWork<Own>, "outputs" | "evidence" | "own">>;

export const doneWork = <Own extends Record<string, Json>>(
  work: StageWork<Own>,
  now: number,
  changes: Ended<Own>,
): StageWork<Own> => ({ ...work, ...changes, state: "done", ended_at: now, waits: [], failure: null });

export const failedWork = <Own extends Record<string, Json>>(
  work: StageWork<Own>,
  now: number,
  failure: StageFailure,
): StageWork<Own> => ({ ...work, state: "failed", ended_at: now, waits: [], failure });

/**
 * Takes back what nobody wants any more. It is done before the caller's commit and may be done again: a job that has ended
 * or is forgotten is no longer in the way.
 */
export async function cancelJobs(
  queue: Pick<WorkQueue, "cancel" | "show">,
  workIds: readonly string[],
  reason: string,
  requestedBy: string,
): Promise<void> {
  for (const workId of workIds) {
    const job = queue.show(workId);
    if (job === undefined || job.state === "completed" || job.state === "failed" || job.state === "cancelled") continue;
    try {
      await queue.cancel(workId, { reason, requested_by: requestedBy });
    } catch (thrown) {
      // It came to its end between the look and the order.
      const ended = queue.show(workId)?.state;
      if (ended !== undefined && ended !== "completed" && ended !== "failed" && ended !== "cancelled")
        throw new Error(`job ${workId} cannot be taken back: ${messageOf(thrown)}`, { cause: thrown });
    }
  }
}

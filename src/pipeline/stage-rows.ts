import { canonicalJson, isOperatingError, type Json, type OperatingError } from "../kernel/index.ts";
import type { StateTable, WriteSet } from "../router/index.ts";
import type { AddedJob, JobSpecInput, JoinedContext, WorkQueue } from "../work/index.ts";
import type { Iteration, StageFailure, Wait } from "./iteration.ts";
import type { StageWork } from "./stage-work.ts";
import type { Stage } from "./stages.ts";

/** The name of one undertaking: what a stage does for one attempt of one iteration. */
export const undertakingOf = (
  configKey: string,
  { iteration, attempt }: Pick<Iteration, "iteration" | "attempt">,
  stage: Stage,
): string => `${configKey}:${iteration}:${stage}:${attempt}`;

/** Writes a row only if it says something new, so that looking again costs nobody a conflict. True if it was written. */
export function putChanged<T extends Json>(
  rows: Pick<WriteSet, "get" | "put">,
  table: StateTable<T>,
  key: string,
  row: T,
): boolean {
  const before = rows.get(table, key);
  if (before !== undefined && canonicalJson(before) === canonicalJson(row)) return false;
  rows.put(table, key, row);
  return true;
}

/** What it waits for now; for what it waited for already, since then. */
export const waitsSince = (before: readonly Wait[], now: number, next: readonly Omit<Wait, "since">[]): Wait[] =>
  next.map((wait) => ({ ...wait, since: before.find((known) => known.for === wait.for)?.since ?? now }));

export const waiting = <Own extends Record<string, Json>>(
  work: StageWork<Own>,
  now: number,
  next: readonly Omit<Wait, "since">[],
): StageWork<Own> => ({ ...work, waits: waitsSince(work.waits, now, next) });

export const failed = <Own extends Record<string, Json>>(
  work: StageWork<Own>,
  now: number,
  failure: StageFailure,
): StageWork<Own> => ({ ...work, state: "failed", ended_at: now, failure, waits: [] });

/** Adds jobs in the unit's commit. A refusal is an answer to wait on, not a fault of the unit: it shows in `why`. */
export function putJobs(
  queue: Pick<WorkQueue, "join">,
  context: JoinedContext,
  specs: readonly JobSpecInput[],
): { readonly added: readonly AddedJob[] } | { readonly refused: OperatingError } {
  if (specs.length === 0) return { added: [] };
  try {
    return { added: queue.join(context).addAll(specs) };
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    return { refused: thrown };
  }
}

const QUEUE = "queue";

/** The wait that a refusal of the queue is. */
export const refusedWait = ({ code, message }: OperatingError): Omit<Wait, "since"> => ({
  for: QUEUE,
  actual: `${code}: ${message}`,
  required: "takes the jobs",
});

export const isRefusal = (wait: Wait): boolean => wait.for === QUEUE;

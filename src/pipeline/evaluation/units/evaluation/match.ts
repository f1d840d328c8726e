/** A match under way: which jobs must be there, and what whole batches of them have come to. */
import { type Json, sumOf } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import { playersOf } from "../../../models/index.ts";
import {
  type EvaluationOwn,
  type Jobs,
  putJobs,
  refusedWait,
  type StageWork,
  type Turn,
  waiting,
} from "../../../stage/index.ts";
import {
  addBlocks,
  batchOf,
  type GateLook,
  type GatePlan,
  lookAtGate,
  looksDecided,
  type MatchPart,
  partsOfBatch,
  redundancyOfMatch,
} from "../../gate.ts";
import { openingsOf } from "../../ledger.ts";
import { BATCHES_AHEAD, PARTS_PER_BATCH } from "../../limits.ts";
import { matchJob, recordMatch, resultsOf } from "../../match-jobs.ts";
import type { MatchResults } from "../../match-results.ts";
import type { EvaluationServices } from "../../services.ts";

export type Work = StageWork<EvaluationOwn>;

/** What is kept beside the counts while a match is under way. */
export interface MatchEvidence {
  readonly gate: GatePlan;
  readonly budget: string;
  readonly games: number;
  readonly wins: number;
  readonly losses: number;
  /** Games times redundancy, over the jobs. */
  readonly repeated: number;
}

/** A whole batch that has come in, in the order of its parts. */
export type Batch = readonly { readonly part: MatchPart; readonly job: JobView; readonly results: MatchResults }[];

export const matchOf = ({ evidence }: Pick<Work, "evidence">) => evidence as unknown as MatchEvidence;
export const withMatch = (work: Work, match: MatchEvidence): Work => ({
  ...work,
  evidence: match as unknown as { [name: string]: Json },
});

/** Jobs whose blocks no look has counted: the others are complete, and there may be hundreds of them. */
export const uncounted = ({ jobs, own }: Work): Jobs =>
  Object.fromEntries(Object.entries(jobs).filter(([part]) => batchOf(part) >= own.batches));

const partsUpTo = ({ batchBlocks, capBlocks }: GatePlan, batches: number): MatchPart[] =>
  Array.from({ length: Math.min(batches, capBlocks / batchBlocks) }, (_, batch) =>
    partsOfBatch(batch, batchBlocks, PARTS_PER_BATCH),
  ).flat();

/** The work with the jobs that must be there by now; those that it has already are left alone. */
export function order({ queue }: EvaluationServices, turn: Turn<"WORK_QUEUED">, work: Work, ahead: number): Work {
  const lacking = partsUpTo(matchOf(work).gate, work.own.batches + 1 + ahead).filter(
    ({ name }) => work.jobs[name] === undefined,
  );
  const job = (part: MatchPart) =>
    matchJob(turn.plan, work.own, part, { urgency: "normal", seed: ["gate", work.iteration] });
  const put = putJobs(queue, turn, {
    batch: turn.jobId,
    by: "evaluation_daemon",
    parts: Object.fromEntries(lacking.map((part) => [part.name, job(part)])),
  });
  if ("refused" in put) return waiting(work, turn.now, refusedWait(put.refused));
  return { ...work, jobs: { ...work.jobs, ...put.jobs }, waits: [] };
}

/** Batches to have ready: none beyond one that will probably be the last, unless workers had nothing else to do. */
export function batchesAhead(
  { freeSlots }: EvaluationServices,
  { configKey }: Pick<Turn, "configKey">,
  work: Work,
  begun: Batch,
): number {
  if (freeSlots() > PARTS_PER_BATCH) return BATCHES_AHEAD;
  if (begun.length === 0) return 0;
  const blocks = begun.flatMap(({ results }) => results.blocks);
  return looksDecided(work.own.counts, blocks, playersOf(configKey), matchOf(work).gate) ? 0 : BATCHES_AHEAD;
}

/** The parts of the next batch that are in, in their order. */
export async function nextBatch(
  services: EvaluationServices,
  turn: Pick<Turn, "configKey">,
  work: Work,
  completed: ReadonlyMap<string, JobView>,
): Promise<{ readonly batch: Batch; readonly isWhole: boolean }> {
  const parts = partsOfBatch(work.own.batches, matchOf(work).gate.batchBlocks, PARTS_PER_BATCH);
  const batch: Batch[number][] = [];
  for (const part of parts) {
    const job = completed.get(part.name);
    if (job !== undefined) batch.push({ part, job, results: await resultsOf(services, turn, work.own, part, job) });
  }
  return { batch, isWhole: batch.length === parts.length };
}

/** Adds a batch to the ledger and to the counts. */
export function count(turn: Turn, work: Work, batch: Batch): Work {
  for (const { part, job, results } of batch) recordMatch(turn, "gate", work.own, part, job, results);
  const before = matchOf(work);
  const blocks = batch.flatMap(({ results }) => results.blocks);
  const scores = blocks.flatMap((block) => block.scores);
  const counts = addBlocks(work.own.counts, blocks, playersOf(turn.configKey));
  return withMatch(
    { ...work, own: { ...work.own, counts, batches: work.own.batches + 1 } },
    {
      ...before,
      games: before.games + scores.length,
      wins: before.wins + scores.filter((score) => score === 1).length,
      losses: before.losses + scores.filter((score) => score === 0).length,
      repeated: before.repeated + sumOf(batch, ({ results }) => results.games * results.redundancy),
    },
  );
}

/** A look at all that is counted, right after this batch was. */
export function lookAtMatch(
  { store }: EvaluationServices,
  { configKey }: Pick<Turn, "configKey">,
  work: Work,
  batch: Batch,
): GateLook {
  const { gate, games, repeated } = matchOf(work);
  // The openings of the newest batch are not on disk yet.
  const earlier = Object.entries(work.jobs)
    .filter(([part]) => batchOf(part) < work.own.batches - 1)
    .map(([, workId]) => workId);
  const openings = [
    ...openingsOf(store, earlier),
    ...batch.flatMap(({ results }) => results.blocks.map(({ opening }) => opening)),
  ];
  const redundancy = redundancyOfMatch([{ games, redundancy: repeated / games }], openings);
  return lookAtGate(work.own.counts, playersOf(configKey), gate, redundancy);
}

import { defined } from "../../../../kernel/index.ts";
import { defineTable } from "../../../../router/index.ts";
import {
  judgeProducers,
  type ProducerFinding,
  type ProducerRecord,
  type ProducerVerdict,
  type Sums,
  sumsOf,
} from "../../../statistics/index.ts";
import { addFigures, type Figures } from "../../figures.ts";
import { ITERATIONS_KEPT, SUSPECT_ALPHA } from "../../limits.ts";

/** What one producer made in one iteration, of what was accepted. */
export type ProducerGames = {
  readonly producer: string;
  readonly iteration: number;
  readonly figures: Figures;
  readonly segments: readonly { readonly part: string; readonly samples: string }[];
};

/** The last iterations of a config, by producer. Written by `quality_monitor_daemon`. */
export type ProducerHistory = { readonly games: readonly ProducerGames[] };
/** By config_key. */
export const producerHistories = defineTable<ProducerHistory>("pipeline_producers");

/**
 * Games change as models do, and producers take part in iterations by different amounts: whatever is pooled over iterations
 * is first freed of its iteration's mean, or one who played early would look strange beside one who played late.
 */
function centred(own: Sums | null, all: Sums | null): Sums | undefined {
  if (own === null || all === null || all.count === 0) return undefined;
  const mean = all.sum / all.count;
  return {
    count: own.count,
    sum: own.sum - own.count * mean,
    squares: Math.max(0, own.squares - 2 * mean * own.sum + own.count * mean ** 2),
  };
}

const pool = (sums: readonly (Sums | undefined)[]): Sums | undefined =>
  sums.every((one) => one === undefined) ? undefined : sumsOf(sums);

/**
 * The record of each producer of this batch. Lengths and surprises are pooled over iterations; outcomes and repeated
 * positions are those of this batch. Positions of one game come together or not at all, so a game counts as one of them:
 * to count each position would find differences where there is only luck.
 */
function recordsOf(batch: readonly ProducerGames[], history: readonly ProducerGames[]): ProducerRecord[] {
  const all = [...history, ...batch];
  const totals = new Map<number, Figures>();
  for (const iteration of new Set(all.map((one) => one.iteration)))
    totals.set(iteration, addFigures(all.filter((one) => one.iteration === iteration).map(({ figures }) => figures))!);
  const seats = Math.max(0, ...batch.map(({ figures }) => figures.outcomes.length));
  return [...new Set(batch.map(({ producer }) => producer))].map((producer) => {
    const own = all.filter((one) => one.producer === producer);
    const now = addFigures(batch.filter((one) => one.producer === producer).map(({ figures }) => figures))!;
    const lengths = pool(own.map(({ iteration, figures }) => centred(figures.plies, totals.get(iteration)!.plies)));
    const surprises = pool(
      own.map(({ iteration, figures }) => centred(figures.surprises, totals.get(iteration)!.surprises)),
    );
    const { positions, games } = now;
    return {
      producer,
      outcomes: Array.from({ length: seats }, (_, seat) => now.outcomes[seat] ?? 0),
      ...defined({ lengths, surprises }),
      ...(positions === null
        ? {}
        : { positions: { total: games, repeated: Math.round((games * positions.repeated) / positions.total) } }),
    };
  });
}

export interface Accused {
  readonly producer: string;
  readonly finding: ProducerFinding;
}

const worst = ({ findings }: ProducerVerdict): ProducerFinding | undefined =>
  findings.toSorted((a, b) => a.pValue - b.pValue)[0];

/** Producers of this batch whose games differ from those of the others by more than chance. */
export function accusedIn(batch: readonly ProducerGames[], history: readonly ProducerGames[]): Accused[] {
  return judgeProducers(recordsOf(batch, history), SUSPECT_ALPHA).flatMap((verdict) => {
    const finding = verdict.suspicious ? worst(verdict) : undefined;
    return finding === undefined ? [] : [{ producer: verdict.producer, finding }];
  });
}

/** The history with one more batch; what is too old is let go. */
export const withBatch = (
  history: readonly ProducerGames[],
  batch: readonly ProducerGames[],
  iteration: number,
): ProducerGames[] => [
  ...history.filter((one) => one.iteration !== iteration && one.iteration > iteration - ITERATIONS_KEPT),
  ...batch,
];

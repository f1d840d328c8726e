/** Stretches of a run in which no game came, long enough that a reader asks why. */
export interface Stall {
  readonly from: number;
  readonly to: number;
}

type Sample = { readonly at: number; readonly games: number };

const MIN_STALL_MS = 20_000;
/** Games come round by round: only what is this much longer than a round is a stall. */
const TIMES_USUAL = 3;
/** Before anybody knows what is usual: a share of the run. */
const MIN_GAPS = 3;
const MIN_SHARE = 0.25;

const middleOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** Samples are oldest first; the end of the run closes the last stretch. */
export function stallsOf(samples: readonly Sample[], startedAt: number, endedAt: number): Stall[] {
  const [first] = samples;
  if (first === undefined) return [];
  const came = samples.filter(({ games }, i) => i > 0 && games !== samples[i - 1]!.games).map(({ at }) => at);
  const edges = [Math.max(startedAt, first.at), ...came, endedAt];
  const gaps = edges.slice(1).map((to, i) => ({ from: edges[i]!, to }));
  const between = gaps.slice(1, -1).map(({ from, to }) => to - from);
  const usual = between.length < MIN_GAPS ? (endedAt - startedAt) * MIN_SHARE : TIMES_USUAL * middleOf(between);
  const least = Math.max(MIN_STALL_MS, usual);
  return gaps.filter(({ from, to }) => to - from >= least);
}

/** Stretches of a run in which no game came, long enough that a reader asks why. */
export interface Stall {
  readonly from: number;
  readonly to: number;
}

type Sample = { readonly at: number; readonly games: number };

const MIN_STALL_MS = 20_000;
const MIN_SHARE = 0.1;

/** Samples are oldest first; the end of the run closes the last stretch. */
export function stallsOf(samples: readonly Sample[], startedAt: number, endedAt: number): Stall[] {
  const least = Math.max(MIN_STALL_MS, (endedAt - startedAt) * MIN_SHARE);
  const [first] = samples;
  if (first === undefined) return [];
  const stalls: Stall[] = [];
  let [since, games] = [Math.max(startedAt, first.at), first.games];
  const close = (to: number) => {
    if (to - since >= least) stalls.push({ from: since, to });
  };
  for (const sample of samples) {
    if (sample.games === games) continue;
    close(sample.at);
    [since, games] = [sample.at, sample.games];
  }
  close(endedAt);
  return stalls;
}

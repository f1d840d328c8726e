import type { Clock } from "../../kernel/index.ts";

/** How often one caller may do one kind of thing: so many a second in the long run, so many at once. */
interface Allowance {
  readonly perSecond: number;
  readonly burst: number;
}

export const limitClasses = {
  probe: { perSecond: 50, burst: 100 },
  read: { perSecond: 100, burst: 200 },
  /** Reads much of the journal or judges the whole wiring. */
  heavy: { perSecond: 10, burst: 20 },
  write: { perSecond: 50, burst: 100 },
  /** The daily bread of publishers and consumers. */
  traffic: { perSecond: 2_000, burst: 4_000 },
  /** Signs of life and results of workers: they never wait behind what follows. */
  beat: { perSecond: 2_000, burst: 4_000 },
  /** Asking for work. */
  claim: { perSecond: 200, burst: 400 },
  /** Bringing and fetching files. */
  upload: { perSecond: 50, burst: 200 },
  /** Opening an endless answer. */
  stream: { perSecond: 5, burst: 20 },
  /** Tokens that were wrong. */
  login: { perSecond: 0.2, burst: 10 },
} as const satisfies Record<string, Allowance>;
export type LimitClass = Exclude<keyof typeof limitClasses, "login">;

const MOST_CALLERS = 10_000;

interface Bucket {
  left: number;
  /** When `left` was true, on the monotonic clock. */
  at: number;
}

export interface Limits {
  /** Takes one; 0 when it was there, else how many seconds to wait for it. */
  take(caller: string, of: keyof typeof limitClasses): number;
}

/** Token buckets, one for each caller and class. The caller that was not heard for longest is forgotten first. */
export function createLimits(clock: Clock, factor = 1): Limits {
  const buckets = new Map<string, Bucket>();
  return {
    take(caller, of) {
      const { perSecond, burst } = limitClasses[of];
      const rate = perSecond * factor;
      const most = Math.max(1, burst * factor);
      const key = `${of} ${caller}`;
      const now = clock.monotonic();
      const known = buckets.get(key);
      const left = known === undefined ? most : Math.min(most, known.left + ((now - known.at) / 1_000) * rate);
      // Deleted first: a map keeps the order of insertion, so that the oldest stands in front.
      buckets.delete(key);
      const enough = left >= 1;
      buckets.set(key, { left: enough ? left - 1 : left, at: now });
      if (buckets.size > MOST_CALLERS) buckets.delete(buckets.keys().next().value!);
      return enough ? 0 : (1 - left) / rate;
    },
  };
}

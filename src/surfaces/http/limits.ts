import { type Clock, sumOf } from "../../kernel/index.ts";

/**
 * How much one caller may do of one kind: so much a second in the long run, so much at once. A request counts as one, and as
 * more if it carries more: as each thing in it, or as each started piece of its bytes, whichever is more.
 */
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
  /** What is turned away at the door: no token, no such route, a foreign name. */
  refused: { perSecond: 50, burst: 200 },
} as const satisfies Record<string, Allowance>;
export type LimitClass = Exclude<keyof typeof limitClasses, "login" | "refused">;

/** Requests of one caller that are under way at once, waiting ones included. */
export const MAX_UNDER_WAY = 512;

const MAX_CALLERS = 10_000;
const PIECE_BYTES = 4_096;

/** What bytes count as. */
export const costOfBytes = (bytes: number): number => Math.max(1, Math.ceil(bytes / PIECE_BYTES));

/** What the lists in a body count as: what it asks for, one by one. */
export const costOfItems = (body: unknown, costs: Readonly<Record<string, number>>): number => {
  if (Array.isArray(body)) return body.length;
  if (typeof body !== "object" || body === null) return 1;
  return sumOf(Object.entries(body), ([name, value]) => (Array.isArray(value) ? value.length * (costs[name] ?? 1) : 0));
};

interface Bucket {
  readonly left: number;
  /** When `left` was true, on the monotonic clock. */
  readonly at: number;
}

export type Limits = ReturnType<typeof createLimits>;

/** Token buckets, one for each caller and class. The caller that was not heard for longest is forgotten first. */
export function createLimits(clock: Clock, factor = 1) {
  const buckets = new Map<string, Bucket>();
  return {
    /**
     * Takes so much where there is anything left; 0 then, else how many seconds to wait. What is more than was left, and what
     * turns out later (`isLate`), is owed: the caller waits for it before its next one.
     */
    take(caller: string, of: keyof typeof limitClasses, cost = 1, isLate = false): number {
      const { perSecond, burst } = limitClasses[of];
      const rate = perSecond * factor;
      const max = Math.max(1, burst * factor);
      const key = `${of} ${caller}`;
      const now = clock.monotonic();
      const known = buckets.get(key);
      const left = known === undefined ? max : Math.min(max, known.left + ((now - known.at) / 1_000) * rate);
      // Deleted first: a map keeps the order of insertion, so that the oldest stands in front.
      buckets.delete(key);
      const enough = left >= 1 || isLate;
      buckets.set(key, { left: enough ? Math.max(-max, left - cost) : left, at: now });
      if (buckets.size > MAX_CALLERS) buckets.delete(buckets.keys().next().value!);
      return enough ? 0 : (1 - left) / rate;
    },
  };
}

/** How much a node should get a copy, as a sum of reasons that can be shown, each with what is and what was asked for. */

export interface TargetFacts {
  readonly node_id: string;
  readonly isThere: boolean;
  /** Why nothing new goes there; undefined if it may. */
  readonly barred?: string | undefined;
  /** That passes by itself. */
  readonly isBarredForNow?: boolean | undefined;
  readonly isConfirmed: boolean;
  readonly isRented: boolean;
  readonly isHome: boolean;
  /** Kinds of work that it does. */
  readonly kinds: readonly string[];
  /** Null where it did not say. */
  readonly freeBytes: number | null;
  /** Files of the request that it lacks, and their bytes. */
  readonly missing: number;
  readonly missingBytes: number;
  readonly wanted: number;
  /** Jobs that it could take on. */
  readonly freeCpus: number;
  /** Since the newest copy that it got; null if it has none. */
  readonly staleMs: number | null;
  /** Bytes a second that its last transfers came to; null where there were none. */
  readonly bytesPerSecond: number | null;
}

export interface Reason {
  readonly what: "need" | "capacity" | "disk" | "freshness" | "bandwidth";
  readonly actual: number | null;
  readonly required: number | null;
  readonly points: number;
}

export interface Judgement {
  readonly node_id: string;
  /** Why it gets nothing; null if it may. */
  readonly skipped: {
    readonly why: string;
    readonly actual: number | string;
    readonly required: number | string;
  } | null;
  readonly score: number;
  readonly reasons: readonly Reason[];
}

const HOUR_MS = 3_600_000;
const RESERVE_BYTES = 2e9;
const clamp = (value: number, max: number) => Math.max(0, Math.min(max, value));
const round = (value: number) => Math.round(value * 10) / 10;

/** Points: need up to 50, capacity 10, disk 20, freshness 30 (an hour without news is all of it), bandwidth 10; rented ones lose 15. */
export function judgeTarget(facts: TargetFacts): Judgement {
  const { node_id, freeBytes, missing, missingBytes, wanted, freeCpus, staleMs, bytesPerSecond } = facts;
  const requiredBytes = missingBytes + RESERVE_BYTES;
  const reasons: Reason[] = [
    { what: "need", actual: missing, required: wanted, points: wanted === 0 ? 0 : round((50 * missing) / wanted) },
    { what: "capacity", actual: freeCpus, required: 1, points: round(clamp(freeCpus, 10)) },
    {
      what: "disk",
      actual: freeBytes,
      required: requiredBytes,
      points: freeBytes === null ? 0 : round(clamp((20 * (freeBytes - requiredBytes)) / (10 * requiredBytes), 20)),
    },
    {
      what: "freshness",
      actual: staleMs === null ? null : staleMs / 1_000,
      required: 0,
      points: round(clamp((30 * (staleMs ?? HOUR_MS)) / HOUR_MS, 30)),
    },
    {
      what: "bandwidth",
      actual: bytesPerSecond,
      required: null,
      points: bytesPerSecond === null ? 5 : round(clamp(bytesPerSecond / 5e6, 10)),
    },
  ];
  const score = round(reasons.reduce((sum, { points }) => sum + points, 0) - (facts.isRented ? 15 : 0));
  return { node_id, skipped: whySkipped(facts, requiredBytes), score, reasons };
}

/** What is actual of a node that may be able a moment later: it is heard again, gets well, or says what it has not said yet. */
const PASSING: ReadonlySet<number | string> = new Set(["away", "barred for now", "unconfirmed", "unknown"]);

/** Whether a node is left out only for what may soon be otherwise. */
export const isSoonAble = ({ skipped }: Judgement): boolean => skipped !== null && PASSING.has(skipped.actual);

function whySkipped(
  { isThere, isConfirmed, freeBytes, barred, isBarredForNow = false }: TargetFacts,
  requiredBytes: number,
): Judgement["skipped"] {
  if (!isThere) return { why: "it is away", actual: "away", required: "online" };
  if (barred !== undefined)
    return { why: barred, actual: isBarredForNow ? "barred for now" : "barred", required: "available" };
  if (!isConfirmed) return { why: "it has not said what it holds", actual: "unconfirmed", required: "confirmed" };
  if (freeBytes === null)
    return { why: "it has not said how much room it has", actual: "unknown", required: requiredBytes };
  if (freeBytes < requiredBytes) return { why: "it has too little room", actual: freeBytes, required: requiredBytes };
  return null;
}

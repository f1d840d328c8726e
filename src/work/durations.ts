import { defineTable, type Store } from "../router/index.ts";
import type { Lane } from "./needs.ts";

/** How long jobs of one sort took, newest last, in milliseconds. */
export type DurationRow = { readonly took: readonly number[] };
/** By kind and config; kept by `job_reaper`. */
export const jobDurations = defineTable<DurationRow>("work_durations");

export const durationLimits = {
  /** Of each sort the last so many are remembered. */
  keep: 32,
  /** Fewer say too little to judge others by. */
  min: 3,
  maxSorts: 5_000,
};

type Sort = Pick<Lane, "workType" | "configKey">;
const sortOf = ({ workType, configKey }: Sort): string => `${workType}/${configKey ?? ""}`;

/** The value below which that share of them is: one of them, never a mean. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

/**
 * What jobs took, by kind and config. A config of which too little is known is judged by what its kind took elsewhere. Kept in
 * memory and asked at every look; its rows are written now and then, and a few that are lost do no harm.
 */
export class Durations {
  readonly #took = new Map<string, readonly number[]>();
  readonly #unsaved = new Set<string>();
  /** Answers that hold until the next job is done. */
  readonly #answers = new Map<string, number | undefined>();
  readonly #limits: typeof durationLimits;

  constructor(store: Pick<Store, "read">, limits = durationLimits) {
    this.#limits = limits;
    const rows = store.read<{ key: string; value: string }>(
      "SELECT key, value FROM state_rows WHERE table_name = ? LIMIT ?",
      jobDurations.table,
      limits.maxSorts,
    );
    for (const { key, value } of rows) this.#took.set(key, (JSON.parse(value) as DurationRow).took);
  }

  note(sort: Sort, ms: number): void {
    const key = sortOf(sort);
    const before = this.#took.get(key);
    if (before === undefined && this.#took.size >= this.#limits.maxSorts) return;
    this.#took.set(key, [...(before ?? []), Math.max(0, Math.round(ms))].slice(-this.#limits.keep));
    this.#unsaved.add(key);
    this.#answers.clear();
  }

  /** The time within which such a share of them was done; undefined while too few are known. */
  took(sort: Sort, share: number): number | undefined {
    const key = `${sortOf(sort)}/${share}`;
    if (!this.#answers.has(key)) this.#answers.set(key, this.#judge(sort, share));
    return this.#answers.get(key);
  }

  #judge(sort: Sort, share: number): number | undefined {
    const own = this.#took.get(sortOf(sort)) ?? [];
    if (own.length >= this.#limits.min) return quantile(own, share);
    const ofKind = [...this.#took].flatMap(([key, took]) => (key.startsWith(`${sort.workType}/`) ? took : []));
    return ofKind.length >= this.#limits.min ? quantile(ofKind, share) : undefined;
  }

  /** The longest of what jobs of any sort took, as far as enough of them are known; 0 where nothing is. */
  longest(share: number): number {
    const key = `*/${share}`;
    if (!this.#answers.has(key)) {
      const known = [...this.#took.values()].filter(({ length }) => length >= this.#limits.min);
      this.#answers.set(key, Math.max(0, ...known.map((took) => quantile(took, share)!)));
    }
    return this.#answers.get(key)!;
  }

  /** What has changed since it was last asked for. */
  unsaved(): [string, DurationRow][] {
    const changed = [...this.#unsaved].map((key): [string, DurationRow] => [key, { took: this.#took.get(key)! }]);
    this.#unsaved.clear();
    return changed;
  }
}

/** Within how long a job must show that it goes on. */
export interface ProgressLimit {
  readonly ms: number;
  /** Too little is known of such jobs: it may simply be a long one. */
  readonly isGuess: boolean;
}

/** Of such jobs so many were done within the time by which others are judged. */
const NEARLY_ALL = 0.95;

/**
 * Some times as long as nearly all such jobs took. The first ones of a kind are judged by a time of their own, and never more
 * strictly than the longest other kind.
 */
export function progressLimit(
  durations: Pick<Durations, "took" | "longest">,
  sort: Sort,
  {
    progressFloorMs,
    progressFactor,
    firstProgressMs,
  }: { readonly progressFloorMs: number; readonly progressFactor: number; readonly firstProgressMs: number },
): ProgressLimit {
  const tookMs = durations.took(sort, NEARLY_ALL);
  if (tookMs !== undefined) return { ms: Math.max(progressFloorMs, progressFactor * tookMs), isGuess: false };
  const likeOthersMs = progressFactor * durations.longest(NEARLY_ALL);
  return { ms: Math.max(progressFloorMs, firstProgressMs, likeOthersMs), isGuess: true };
}

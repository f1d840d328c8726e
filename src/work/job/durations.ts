import { defineTable, type Store } from "../../router/index.ts";
import type { Lane } from "./needs.ts";

/** How long jobs of one sort took, newest last, in milliseconds. */
export type DurationRow = { readonly took: readonly number[] };
/** By kind and config; kept by `job_reaper`. */
export const jobDurations = defineTable<DurationRow>("work_durations");

/** How long jobs took on a node, each as so many times what such jobs usually take; newest last. Of all kinds, and of each. */
export type PaceRow = { readonly times: readonly number[] };
/** By node, and by node and kind; kept by `job_reaper`. */
export const nodePaces = defineTable<PaceRow>("work_node_paces");

export const durationLimits = {
  /** Of each sort the last so many are remembered. */
  keep: 32,
  /** Fewer say too little to judge others by. */
  min: 3,
  maxSorts: 5_000,
  /** Of paces: each node has one, and one for each kind that it does. */
  maxPaces: 60_000,
  /** Beyond this it was no pace, but an accident. */
  maxTimes: 32,
};

type Sort = Pick<Lane, "workType" | "configKey">;
const sortOf = ({ workType, configKey }: Sort): string => `${workType}/${configKey ?? ""}`;

/** No node is called like this: names of nodes have no bar. */
const paceKey = (nodeId: string, workType: string): string => `${nodeId}|${workType}`;

const MEDIAN = 0.5;

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
  readonly #paces = new Map<string, readonly number[]>();
  readonly #unsavedPaces = new Set<string>();
  readonly #paceAnswers = new Map<string, number>();
  /** Answers that hold until the next job is done. */
  readonly #answers = new Map<string, number | undefined>();
  readonly #limits: typeof durationLimits;

  constructor(store: Pick<Store, "read">, limits = durationLimits) {
    this.#limits = limits;
    const rows = (table: string, max: number) =>
      store.read<{ key: string; value: string }>(
        "SELECT key, value FROM state_rows WHERE table_name = ? LIMIT ?",
        table,
        max,
      );
    for (const { key, value } of rows(jobDurations.table, limits.maxSorts))
      this.#took.set(key, (JSON.parse(value) as DurationRow).took);
    for (const { key, value } of rows(nodePaces.table, limits.maxPaces))
      this.#paces.set(key, (JSON.parse(value) as PaceRow).times);
  }

  note(sort: Sort, ms: number, nodeId?: string): void {
    const key = sortOf(sort);
    const before = this.#took.get(key);
    const usualMs = this.took(sort, MEDIAN);
    if (nodeId !== undefined && usualMs !== undefined && usualMs > 0)
      for (const whose of [nodeId, paceKey(nodeId, sort.workType)]) this.#notePace(whose, ms / usualMs);
    if (before === undefined && this.#took.size >= this.#limits.maxSorts) return;
    this.#took.set(key, [...(before ?? []), Math.max(0, Math.round(ms))].slice(-this.#limits.keep));
    this.#unsaved.add(key);
    this.#answers.clear();
  }

  #notePace(whose: string, times: number): void {
    const before = this.#paces.get(whose);
    if (before === undefined && this.#paces.size >= this.#limits.maxPaces) return;
    const { maxTimes, keep } = this.#limits;
    const bounded = Math.min(maxTimes, Math.max(1 / maxTimes, times));
    this.#paces.set(whose, [...(before ?? []), Math.round(bounded * 1_000) / 1_000].slice(-keep));
    this.#unsavedPaces.add(whose);
    this.#paceAnswers.delete(whose);
  }

  /**
   * How many times as long as usual jobs take on a node; undefined while too few are known. A machine may be fast at one kind and slow
   * at another: it is judged by the kind, and by all of its jobs while too few of that kind are known.
   */
  pace(nodeId: string, workType?: string): number | undefined {
    const ofKind = workType === undefined ? undefined : this.#paceOf(paceKey(nodeId, workType));
    return ofKind ?? this.#paceOf(nodeId);
  }

  #paceOf(key: string): number | undefined {
    const known = this.#paceAnswers.get(key);
    if (known !== undefined) return known;
    const times = this.#paces.get(key) ?? [];
    const pace = times.length < this.#limits.min ? undefined : quantile(times, MEDIAN);
    if (pace !== undefined) this.#paceAnswers.set(key, pace);
    return pace;
  }

  /** How long such a job takes on a node; undefined while too little is known of either. */
  expected(sort: Sort, nodeId: string): number | undefined {
    const usualMs = this.took(sort, MEDIAN);
    const pace = this.pace(nodeId, sort.workType);
    return usualMs === undefined || pace === undefined ? undefined : usualMs * pace;
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

  /** Paces that have changed since they were last asked for. */
  unsavedPaces(): [string, PaceRow][] {
    const changed = [...this.#unsavedPaces].map((node): [string, PaceRow] => [node, { times: this.#paces.get(node)! }]);
    this.#unsavedPaces.clear();
    return changed;
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

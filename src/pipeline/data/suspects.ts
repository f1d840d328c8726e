import { defineTable } from "../../router/index.ts";
import type { Judgement } from "./judgement.ts";
import type { ProducerGames } from "./producer-record.ts";

/** A producer whose games were rejected, as people and `why` see it. */
export type Suspect = {
  readonly producer: string;
  readonly reasons: readonly string[];
  /** How often it was found guilty. */
  readonly times: number;
  /** Iterations in which it was found guilty first and last. */
  readonly first_iteration: number;
  readonly last_iteration: number;
  /** It plays nothing of this config before this iteration. */
  readonly until_iteration: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** What of its games was accepted since its first bad ones: people may want to look at it. */
  readonly accepted: readonly { readonly iteration: number; readonly part: string; readonly samples: string }[];
};

/** Producers of a config under suspicion, by name. Written by `quality_monitor_daemon`. */
export type Suspects = { readonly [producer: string]: Suspect };
/** By config_key. */
export const suspects = defineTable<Suspects>("pipeline_suspects");

const FIRST_PROBATION = 4;
const LONGEST_PROBATION = 64;

/**
 * How many iterations a producer stays away: four, and twice as many each time it is found guilty again. It counts in
 * iterations and not in hours, so that a run that is repeated goes the same way.
 */
export const probationOf = (times: number): number =>
  Math.min(LONGEST_PROBATION, FIRST_PROBATION * 2 ** Math.max(0, times - 1));

/** Who plays nothing of the config in this iteration. */
export const suspectsIn = (row: Suspects | undefined, iteration: number): string[] =>
  Object.values(row ?? {})
    .filter(({ until_iteration }) => iteration < until_iteration)
    .map(({ producer }) => producer)
    .sort();

const MOST_LISTED = 200;

export interface Verdict {
  readonly iteration: number;
  readonly now: number;
  readonly judgement: Pick<Judgement, "segments" | "cleared">;
  /** What was accepted of each producer, this batch included. */
  readonly history: readonly ProducerGames[];
}

/** A file that was damaged on its way is nobody's guilt. */
const isGuilt = (reason: string | null): reason is string => reason !== null && reason !== "corrupt";

/** Producers that this verdict finds guilty, with the reasons. */
export function guiltyIn(judgement: Pick<Judgement, "segments">): Map<string, string[]> {
  const guilty = new Map<string, string[]>();
  for (const { segment, reason } of judgement.segments)
    if (isGuilt(reason)) {
      const known = guilty.get(segment.producer) ?? [];
      guilty.set(segment.producer, known.includes(reason) ? known : [...known, reason]);
    }
  return guilty;
}

/**
 * The suspects after a verdict. Whoever is found guilty twice in one iteration is so once. Rules and labels are checked in
 * every game: what came before the first bad ones was good. Of what is found by samples or by numbers (parity, producer)
 * nobody knows when it began, and all that is remembered is listed.
 */
export function afterVerdict(before: Suspects | undefined, { iteration, now, judgement, history }: Verdict): Suspects {
  const next: Record<string, Suspect> = { ...before };
  for (const producer of judgement.cleared) delete next[producer];
  for (const [producer, reasons] of guiltyIn(judgement)) {
    const known = next[producer];
    const isRepeat = known?.last_iteration === iteration;
    const times = (known?.times ?? 0) + (isRepeat ? 0 : 1);
    const first_iteration = known?.first_iteration ?? iteration;
    const all = [...new Set([...(known?.reasons ?? []), ...reasons])].sort();
    const isSampled = all.some((reason) => reason === "producer" || reason === "parity");
    const from = isSampled ? Number.NEGATIVE_INFINITY : first_iteration;
    const accepted = history
      .filter((one) => one.producer === producer && one.iteration >= from)
      .flatMap((one) => one.segments.map((segment) => ({ iteration: one.iteration, ...segment })));
    next[producer] = {
      producer,
      reasons: all,
      times,
      first_iteration,
      last_iteration: iteration,
      until_iteration: iteration + 1 + probationOf(times),
      since: known?.since ?? now,
      accepted: accepted.slice(-MOST_LISTED),
    };
  }
  return next;
}

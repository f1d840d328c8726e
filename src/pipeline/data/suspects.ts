import type { Rejection, Suspect, Suspects } from "../selfplay/index.ts";
import type { Judgement } from "./units/quality-monitor/decide.ts";
import type { ProducerGames } from "./units/quality-monitor/producers.ts";

const FIRST_PROBATION = 4;
const LONGEST_PROBATION = 64;

/**
 * How many iterations a producer stays away: four, and twice as many each time it is found guilty again. It counts in
 * iterations and not in hours, so that a run that is repeated goes the same way.
 */
export const probationOf = (times: number): number =>
  Math.min(LONGEST_PROBATION, FIRST_PROBATION * 2 ** Math.max(0, times - 1));

const MAX_LISTED = 200;

export interface Verdict {
  readonly iteration: number;
  readonly now: number;
  readonly judgement: Found;
  /** What of this iteration was rejected before. */
  readonly earlier?: readonly Rejection[];
  /** What was accepted of each producer, this batch included. */
  readonly history: readonly ProducerGames[];
}

/** A file that was damaged on its way is nobody's guilt. */
const isGuilt = (reason: string | null): reason is string => reason !== null && reason !== "corrupt";

type Found = Pick<Judgement, "segments" | "cleared">;

/**
 * Producers that this verdict finds guilty, with the reasons. That something cannot be read speaks against whoever made it
 * only where something else of the batch can be: until then it may as well be those who read. `earlier`: what of this
 * iteration was rejected before; what could not be read then is guilt now, if it was not made again byte for byte.
 */
export function guiltyIn({ segments, cleared }: Found, earlier: readonly Rejection[] = []): Map<string, string[]> {
  const guilty = new Map<string, string[]>();
  const isReadable = segments.some(({ figures }) => figures !== null);
  const blame = (producer: string, reason: string) => {
    const known = guilty.get(producer) ?? [];
    guilty.set(producer, known.includes(reason) ? known : [...known, reason]);
  };
  for (const { segment, reason } of segments)
    if (isGuilt(reason) && (isReadable || reason !== "unreadable")) blame(segment.producer, reason);
  if (isReadable)
    for (const { producer, reason } of earlier)
      if (reason === "unreadable" && !cleared.includes(producer)) blame(producer, reason);
  return guilty;
}

/**
 * The suspects after a verdict. Whoever is found guilty twice in one iteration is so once. Rules and labels are checked in
 * every game: what came before the first bad ones was good. Of what is found by samples or by numbers (parity, producer)
 * nobody knows when it began, and all that is remembered is listed.
 */
export function afterVerdict(
  before: Suspects | undefined,
  { iteration, now, judgement, history, earlier }: Verdict,
): Suspects {
  const next: Record<string, Suspect> = { ...before };
  for (const producer of judgement.cleared) delete next[producer];
  for (const [producer, reasons] of guiltyIn(judgement, earlier)) {
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
      accepted: accepted.slice(-MAX_LISTED),
    };
  }
  return next;
}

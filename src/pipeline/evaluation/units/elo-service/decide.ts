/** Who plays the next rating games, as a pure function. */
import type { RatedPlayer } from "../../../models/index.ts";

export interface RatingChoiceFacts {
  /** Baselines by name; one of them is `zero`. */
  readonly anchors: readonly string[];
  /** Whose rating is 0. */
  readonly zero: string | null;
  /** Champions that may play, newest first. */
  readonly champions: readonly string[];
  readonly rated: readonly RatedPlayer[];
  /** Pairs that would tell most, best first. */
  readonly next: readonly (readonly [string, string])[];
  /** Games that are under way: a player that waits for its first ones needs no second order. */
  readonly open: readonly (readonly [string, string])[];
  /** Players whose games could not be played. */
  readonly unplayable: ReadonlySet<string>;
  /** Baselines that champions beat reliably: after their place on the ladder is known, champions play others. */
  readonly mastered: ReadonlySet<string>;
}

/**
 * The next pair, the stronger idea first as the candidate; undefined when there is nobody to play. The newest champion comes
 * first: against the best champion that has a place on the ladder, or the zero. Then whoever has no place yet, baselines
 * too. After that it is where the uncertainty is largest.
 */
export function chooseRatingPair(facts: RatingChoiceFacts): readonly [candidate: string, opponent: string] | undefined {
  const { anchors, zero, rated, next, open, unplayable, mastered } = facts;
  const champions = facts.champions.filter((player) => !unplayable.has(player));
  const playable = new Set([...champions, ...anchors.filter((anchor) => !unplayable.has(anchor))]);
  const placed = new Set(rated.filter(({ linked }) => linked).map(({ player }) => player));
  const isOpen = (player: string) => open.some((pair) => pair.includes(player));
  const rest = zero !== null && playable.has(zero) ? zero : undefined;
  for (const champion of champions) {
    if (champion === zero || placed.has(champion) || isOpen(champion)) continue;
    const opponent = champions.find((other) => other !== champion && placed.has(other)) ?? rest;
    if (opponent !== undefined) return [champion, opponent];
  }
  for (const anchor of anchors)
    if (rest !== undefined && anchor !== rest && playable.has(anchor) && !placed.has(anchor) && !isOpen(anchor))
      return [anchor, rest];
  const isBoth = ([a, b]: readonly [string, string]) => playable.has(a) && playable.has(b);
  const isKnown = ([a, b]: readonly [string, string]) =>
    (mastered.has(a) && champions.includes(b)) || (mastered.has(b) && champions.includes(a));
  return next.find(
    (pair) => isBoth(pair) && !isKnown(pair) && !open.some(([a, b]) => pair.includes(a) && pair.includes(b)),
  );
}

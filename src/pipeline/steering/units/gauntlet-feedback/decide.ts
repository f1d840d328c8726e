import { sumOf } from "../../../../kernel/index.ts";
import type { PairTally } from "../../../evaluation/index.ts";
import { type ContentKnob, signalIn } from "../../../stage/index.ts";
import { isMastered } from "../../../statistics/index.ts";
import type { JudgedGate } from "../../gates.ts";
import { judgeKnob } from "../../knobs.ts";
import { MASTERY } from "../../limits.ts";

/** Tiers have numbers: each plateau opens the next. */
export const tierName = (tier: number): string => `tier-${tier}`;

/** The factor of a knob in the iteration after the newest gate, and in that of the gate itself. */
export function factorsOf(
  knob: ContentKnob,
  gates: readonly JudgedGate[],
): { value: number; previous: number; reason: string } {
  const { iteration } = gates.at(-1)!;
  const [now, before] = [judgeKnob(knob, gates), judgeKnob(knob, gates.slice(0, -1))];
  return {
    value: now === undefined ? 1 : signalIn(now, iteration + 1),
    previous: before === undefined ? 1 : signalIn(before, iteration),
    reason: now?.reason ?? "nothing is left of what was said",
  };
}

/** Models that gates promoted after an iteration, in a harder tier than the champion before them was promoted in. */
export function risen(gates: readonly JudgedGate[], after: number) {
  const promoted = gates.filter(({ isPromoted }) => isPromoted);
  return promoted.flatMap(({ iteration, candidate: model_id, tier, elo, games }, n) => {
    const previous_tier = promoted[n - 1]?.tier ?? 0;
    return iteration > after && tier > previous_tier ? [{ model_id, tier, previous_tier, elo, games }] : [];
  });
}

/** What a player came to against an opponent, whoever of them was called the candidate; undefined where it has not mastered it. */
export function masteryOf(
  player: string,
  opponent: string,
  tallies: readonly PairTally[],
): { readonly games: number; readonly win_rate: number } | undefined {
  const own = tallies.filter((tally) => tally.candidate === player && tally.opponent === opponent);
  const other = tallies.filter((tally) => tally.candidate === opponent && tally.opponent === player);
  const pairs = sumOf([...own, ...other], ({ blocks }) => blocks);
  const games = sumOf([...own, ...other], (tally) => tally.games);
  const points =
    sumOf(own, ({ wins, draws }) => wins + draws / 2) + sumOf(other, ({ losses, draws }) => losses + draws / 2);
  if (games === 0) return undefined;
  const win_rate = points / games;
  return isMastered(pairs, pairs * win_rate, MASTERY) ? { games, win_rate } : undefined;
}

import { sumOf } from "../../kernel/index.ts";
import type { Choice } from "./match.ts";
import { factorise, invert, solve } from "./symmetric-matrix.ts";

/**
 * Strengths that make the observed choices most likely: a member is chosen with its share of the sum of exp(strength).
 * For two players that is the model of Bradley and Terry. The logarithm of the likelihood is concave, so Newton's method
 * with a step that is halved until it gains finds the one maximum; some strengths may be held.
 */
export interface StrengthFit {
  readonly strengths: Float64Array;
  /** The inverse of the information, over all players; zero in the rows and columns of the held ones. */
  readonly covariance: readonly Float64Array[];
}

const MAX_ROUNDS = 200;
/** A step of more than this many nats is cut: far from the maximum the quadratic picture is of little use. */
const LONGEST_STEP = 4;

const logSumOf = (members: readonly number[], strengths: Float64Array): number => {
  let largest = Number.NEGATIVE_INFINITY;
  for (const member of members) largest = Math.max(largest, strengths[member]!);
  let sum = 0;
  for (const member of members) sum += Math.exp(strengths[member]! - largest);
  return largest + Math.log(sum);
};

const logLikelihoodOf = (choices: readonly Choice[], strengths: Float64Array): number => {
  let value = 0;
  for (const { members, wins } of choices) {
    const logSum = logSumOf(members, strengths);
    for (const [seat, member] of members.entries()) value += wins[seat]! * (strengths[member]! - logSum);
  }
  return value;
};

interface Slopes {
  readonly gradient: Float64Array;
  readonly information: readonly Float64Array[];
}

/** First and second derivatives over the free players; `rowOf` gives a player's row, -1 for a held one. */
function slopesOf(choices: readonly Choice[], strengths: Float64Array, rowOf: Int32Array, free: number): Slopes {
  const gradient = new Float64Array(free);
  const information = Array.from({ length: free }, () => new Float64Array(free));
  for (const { members, wins } of choices) {
    const logSum = logSumOf(members, strengths);
    const chances = members.map((member) => Math.exp(strengths[member]! - logSum));
    const weight = sumOf(wins);
    for (const [seat, member] of members.entries()) {
      const i = rowOf[member]!;
      if (i < 0) continue;
      const line = information[i]!;
      gradient[i] = gradient[i]! + wins[seat]! - weight * chances[seat]!;
      for (const [other, rival] of members.entries()) {
        const j = rowOf[rival]!;
        if (j >= 0) line[j] = line[j]! + weight * chances[seat]! * (Number(seat === other) - chances[other]!);
      }
    }
  }
  return { gradient, information };
}

/** `held` gives the fixed strengths; every player must be linked by choices to one that is held. */
export function fitStrengths(
  players: number,
  choices: readonly Choice[],
  held: ReadonlyMap<number, number>,
): StrengthFit {
  const rowOf = new Int32Array(players).fill(-1);
  let free = 0;
  for (let player = 0; player < players; player += 1) {
    if (held.has(player)) continue;
    rowOf[player] = free;
    free += 1;
  }
  let strengths = Float64Array.from({ length: players }, (_, player) => held.get(player) ?? 0);
  let value = logLikelihoodOf(choices, strengths);
  for (let round = 0; free > 0 && round < MAX_ROUNDS; round += 1) {
    const { gradient, information } = slopesOf(choices, strengths, rowOf, free);
    const step = solve(factorise(information), gradient);
    const longest = step.reduce((largest, part) => Math.max(largest, Math.abs(part)), 0);
    let length = Math.min(1, LONGEST_STEP / longest);
    for (;;) {
      const by = length;
      const next = strengths.map((part, player) => (rowOf[player]! < 0 ? part : part + by * step[rowOf[player]!]!));
      const reached = logLikelihoodOf(choices, next);
      if (reached >= value || longest * length < 1e-6) {
        strengths = next;
        value = reached;
        break;
      }
      length /= 2;
    }
    // Newton squares its error: after a step this small the next would be lost in rounding.
    if (longest < 1e-6) break;
  }
  const inverse = free === 0 ? [] : invert(factorise(slopesOf(choices, strengths, rowOf, free).information));
  const entry = (i: number, j: number) => (i < 0 || j < 0 ? 0 : inverse[i]![j]!);
  const covariance = Array.from({ length: players }, (_, a) =>
    Float64Array.from({ length: players }, (_cell, b) => entry(rowOf[a]!, rowOf[b]!)),
  );
  return { strengths, covariance };
}

import { checkCount, checkFinite, checkWithin, invalid } from "./checks.ts";
import { logGamma } from "./special-functions.ts";

/** What the learner did against one opponent so far. */
export interface OpponentRecord {
  readonly opponent: string;
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
}

export interface OpponentPolicy {
  /** "hard": (1 - x)^power, those that beat us; "even": x * (1 - x), those that are our equals. */
  readonly weighting: "hard" | "even";
  readonly power: number;
  /** The least share of the games against others that each opponent keeps. */
  readonly floor: number;
  /** The share of all games that the learner plays against itself. */
  readonly selfPlayShare: number;
}

export const OPPONENT_POLICY: OpponentPolicy = { weighting: "hard", power: 2, floor: 0.01, selfPlayShare: 0.5 };

export interface OpponentShares {
  readonly selfPlay: number;
  /** Share of all games for each opponent; together with self-play they add up to 1. */
  readonly opponents: readonly { readonly opponent: string; readonly share: number }[];
}

/**
 * Prioritised fictitious self-play. The chance x to win is not known but has a Beta posterior from the record (a draw
 * counts half, the prior is one win and one loss), and the weight is its mean over that posterior: an opponent that was
 * hardly played keeps a weight, whatever its first games said.
 */
export function opponentShares(
  records: readonly OpponentRecord[],
  policy: OpponentPolicy = OPPONENT_POLICY,
): OpponentShares {
  checkWithin(policy.floor, 0, 1, "POLICY", "The floor");
  checkWithin(policy.selfPlayShare, 0, 1, "POLICY", "The share of self-play");
  checkFinite(policy.power, "POLICY", "The power");
  if (policy.power < 0) throw invalid("POLICY", `The power cannot be negative: ${policy.power}.`);
  if (policy.weighting !== "hard" && policy.weighting !== "even")
    throw invalid("POLICY", `The weighting is hard or even, not ${String(policy.weighting)}.`);
  if (new Set(records.map(({ opponent }) => opponent)).size !== records.length)
    throw invalid("RECORDS", "An opponent has two records.");
  if (records.length === 0) return { selfPlay: 1, opponents: [] };

  const weights = records.map(({ opponent, wins, draws, losses }) => {
    for (const count of [wins, draws, losses]) checkCount(count, 0, "RECORDS", `A count of ${opponent}`);
    const a = 1 + wins + draws / 2;
    const b = 1 + losses + draws / 2;
    if (policy.weighting === "even") return (a * b) / ((a + b) * (a + b + 1));
    return Math.exp(logGamma(b + policy.power) - logGamma(b) + logGamma(a + b) - logGamma(a + b + policy.power));
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const floor = Math.min(policy.floor, 1 / records.length);
  const free = 1 - floor * records.length;
  const others = 1 - policy.selfPlayShare;
  return {
    selfPlay: policy.selfPlayShare,
    opponents: records.map(({ opponent }, index) => ({
      opponent,
      share: others * (floor + (free * weights[index]!) / total),
    })),
  };
}

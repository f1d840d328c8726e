import { type BlockShape, checkCounts, momentsOf } from "./block.ts";
import { checkBetween, checkFinite } from "./checks.ts";
import { scorePosterior, smoothedCounts } from "./posterior.ts";
import { normalQuantile } from "./special-functions.ts";

/**
 * Two scales. Logistic Elo says how often the candidate wins: against players - 1 equal opponents its score is
 * 1 / (1 + (players - 1) * 10^(-elo / 400)). Normalized Elo says how fast that can be seen: it is the score above par in
 * units of one game's noise, scaled so that both agree for small differences between players who never draw.
 */
export const ELO_PER_NAT = 400 / Math.LN10;

export function scoreOfElo(elo: number, players = 2): number {
  checkFinite(elo, "ELO", "An Elo difference");
  return 1 / (1 + (players - 1) * 10 ** (-elo / 400));
}

export function eloOfScore(score: number, players = 2): number {
  checkBetween(score, 0, 1, "SCORE", "A score with a finite Elo");
  return ELO_PER_NAT * Math.log((score * (players - 1)) / (1 - score));
}

/** Normalized Elo for one unit of a block's t-value: 800 / (sqrt(2) * ln 10) for pairs. */
const eloPerT = ({ gamesPerBlock, reference }: BlockShape): number =>
  ELO_PER_NAT / Math.sqrt(gamesPerBlock * reference * (1 - reference));

export function tOfNormalizedElo(elo: number, blocks: BlockShape): number {
  checkFinite(elo, "ELO", "An Elo difference");
  return elo / eloPerT(blocks);
}

export const normalizedEloOfT = (t: number, blocks: BlockShape): number => t * eloPerT(blocks);

export interface Interval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

export interface EloEstimate {
  readonly blocks: number;
  readonly games: number;
  readonly score: number;
  readonly confidence: number;
  readonly elo: Interval;
  /** Half the width of the interval: what follows the +- in print. */
  readonly halfWidth: number;
  readonly normalizedElo: Interval;
  /** The posterior chance that the candidate is the stronger one. */
  readonly superiority: number;
  /** "posterior" where the counts are too lopsided for the normal interval of the mean score. */
  readonly method: "normal" | "posterior";
}

/** Normalized Elo with its interval by the delta method, which needs the skewness and kurtosis of a block's score. */
function normalizedInterval(counts: readonly number[], blocks: BlockShape, z: number): Interval {
  const { blocks: total, mean, variance } = momentsOf(counts, blocks.scores);
  const deviation = Math.sqrt(variance);
  const t = (mean - blocks.reference) / deviation;
  let skewness = 0;
  let kurtosis = 0;
  for (const [cell, count] of counts.entries()) {
    const standard = (blocks.scores[cell]! - mean) / deviation;
    skewness += (count / total) * standard ** 3;
    kurtosis += (count / total) * standard ** 4;
  }
  const reach = z * Math.sqrt((1 - skewness * t + ((kurtosis - 1) * t * t) / 4) / total);
  const elo = (value: number) => normalizedEloOfT(value, blocks);
  return { estimate: elo(t), low: elo(t - reach), high: elo(t + reach) };
}

/** Normalized Elo of scores, with the noise of the counts and the prior together: for counts that show none alone. */
function normalizedOfScores(scores: Interval, counts: readonly number[], blocks: BlockShape): Interval {
  const deviation = Math.sqrt(momentsOf(smoothedCounts(counts, blocks), blocks.scores).variance);
  const elo = (score: number) => normalizedEloOfT((score - blocks.reference) / deviation, blocks);
  return { estimate: elo(scores.estimate), low: elo(scores.low), high: elo(scores.high) };
}

/** Elo of a fixed number of blocks. After a sequential test it is biased: `eloAfterStopping` is for that. */
export function estimateElo(counts: readonly number[], blocks: BlockShape, confidence = 0.95): EloEstimate {
  checkBetween(confidence, 0, 1, "CONFIDENCE", "The confidence");
  const total = checkCounts(counts, blocks);
  const { mean, variance } = momentsOf(counts, blocks.scores);
  const posterior = scorePosterior(counts, blocks);
  const tail = (1 - confidence) / 2;
  const z = normalQuantile(1 - tail);
  const reach = z * Math.sqrt(variance / total);
  const normal = variance > 0 && mean - reach > 0 && mean + reach < 1;
  const [score, low, high] = normal
    ? [mean, mean - reach, mean + reach]
    : [posterior.quantile(0.5), posterior.quantile(tail), posterior.quantile(1 - tail)];
  const elo = {
    estimate: eloOfScore(score, blocks.players),
    low: eloOfScore(low, blocks.players),
    high: eloOfScore(high, blocks.players),
  };
  return {
    blocks: total,
    games: total * blocks.gamesPerBlock,
    score: mean,
    confidence,
    elo,
    halfWidth: (elo.high - elo.low) / 2,
    normalizedElo: normal
      ? normalizedInterval(counts, blocks, z)
      : normalizedOfScores({ estimate: score, low, high }, counts, blocks),
    superiority: 1 - posterior.below(blocks.reference),
    method: normal ? "normal" : "posterior",
  };
}

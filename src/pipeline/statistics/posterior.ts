import { type BlockShape, checkCounts, momentsOf } from "./block.ts";
import { betaCdf, betaQuantile } from "./special-functions.ts";
import { fitMean } from "./support-mle.ts";

/**
 * What the blocks say about the true mean score, as a distribution. The prior is worth one block, spread over all cells
 * with the mean of equal players; with the counts it makes a Dirichlet posterior over the cells. The mean score under
 * it is summed up by the Beta distribution of the same mean and variance, which cannot leave 0 to 1.
 */
export interface ScorePosterior {
  readonly mean: number;
  readonly variance: number;
  /** The chance that the true mean score is below this one. */
  readonly below: (score: number) => number;
  readonly quantile: (p: number) => number;
}

/** The counts with the prior's one block added. */
export function smoothedCounts(counts: readonly number[], { scores, reference }: BlockShape): number[] {
  const even = scores.map(() => 1 / scores.length);
  const prior = fitMean(even, scores, reference).distribution;
  return counts.map((count, cell) => count + prior[cell]!);
}

export function scorePosterior(counts: readonly number[], blocks: BlockShape): ScorePosterior {
  checkCounts(counts, blocks);
  const smoothed = momentsOf(smoothedCounts(counts, blocks), blocks.scores);
  const { mean } = smoothed;
  const variance = smoothed.variance / (smoothed.blocks + 1);
  const weight = (mean * (1 - mean)) / variance - 1;
  const a = mean * weight;
  const b = (1 - mean) * weight;
  return { mean, variance, below: (score) => betaCdf(score, a, b), quantile: (p) => betaQuantile(p, a, b) };
}

import { type BlockShape, checkCounts, checkRedundancy, frequenciesOf } from "./block.ts";
import { scoreOfElo, tOfNormalizedElo } from "./elo.ts";
import { checkPlan, type SprtPlan } from "./sprt-plan.ts";
import { fitMean, fitTValue } from "./support-mle.ts";

/**
 * The generalised sequential probability ratio test. It asks after each batch of blocks which of two differences the
 * results fit better, and stops as soon as the answer is clear: promote when the ratio of likelihoods passes the upper
 * bound, reject when it passes the lower one, inconclusive when the cap is reached in between.
 */
export const MAX_REDUNDANCY = 0.5;

/** The mean overshoot of a random walk with normal steps over a far bound, in deviations of a step: -zeta(1/2) / sqrt(2 pi). */
export const OVERSHOOT = 0.582597;

export interface LikelihoodRatio {
  readonly llr: number;
  /** The standard deviation of what one more block adds to it. */
  readonly deviationPerBlock: number;
}

export function logLikelihoodRatio(
  counts: readonly number[],
  blocks: BlockShape,
  { model, bounds }: Pick<SprtPlan, "model" | "bounds">,
): LikelihoodRatio {
  checkCounts(counts, blocks);
  const { total, frequencies } = frequenciesOf(counts);
  const likeliest = (elo: number) =>
    model === "logistic"
      ? fitMean(frequencies, blocks.scores, scoreOfElo(elo, blocks.players))
      : fitTValue(frequencies, blocks.scores, blocks.reference, tOfNormalizedElo(elo, blocks));
  const under0 = likeliest(bounds[0]).distribution;
  const under1 = likeliest(bounds[1]).distribution;
  let mean = 0;
  let square = 0;
  for (const [cell, frequency] of frequencies.entries()) {
    const gain = Math.log(under1[cell]! / under0[cell]!);
    mean += frequency * gain;
    square += frequency * gain * gain;
  }
  return { llr: total * mean, deviationPerBlock: Math.sqrt(Math.max(0, square - mean * mean)) };
}

export type SprtDecision = "promote" | "reject" | "inconclusive" | "continue";

export interface SprtResult {
  readonly decision: SprtDecision;
  /** Why, in a sentence with the actual and the required values. */
  readonly reason: string;
  readonly llr: number;
  /** Wald's bounds, ln(beta / (1 - alpha)) and ln((1 - beta) / alpha). */
  readonly lower: number;
  readonly upper: number;
  /** Where the test stops: Wald's bounds drawn in by the overshoot that looking in batches brings. */
  readonly stopLower: number;
  readonly stopUpper: number;
  readonly blocks: number;
  readonly games: number;
  readonly redundancy: number;
}

export const waldBounds = ({ alpha, beta }: Pick<SprtPlan, "alpha" | "beta">): { lower: number; upper: number } => ({
  lower: Math.log(beta / (1 - alpha)),
  upper: Math.log((1 - beta) / alpha),
});

/** A bound nearer to zero by the overshoot, but never by more than half: beyond that it would be no overshoot. */
export const drawnIn = (bound: number, overshoot: number): number =>
  bound - Math.sign(bound) * Math.min(overshoot, Math.abs(bound) / 2);

function decide(plan: SprtPlan, result: Omit<SprtResult, "decision" | "reason">): [SprtDecision, string] {
  const { llr, stopLower, stopUpper, blocks, redundancy } = result;
  const atCap = plan.capBlocks !== undefined && blocks >= plan.capBlocks;
  const waiting = atCap ? "inconclusive" : "continue";
  if (redundancy > MAX_REDUNDANCY)
    return [
      waiting,
      `${share(redundancy)} of the positions are repeats; above ${share(MAX_REDUNDANCY)} there is no verdict.`,
    ];
  if (!atCap && blocks % plan.batchBlocks !== 0)
    return ["continue", `${blocks} blocks are no whole number of batches of ${plan.batchBlocks}.`];
  if (llr >= stopUpper) return ["promote", `LLR ${llr.toFixed(3)} reached ${stopUpper.toFixed(3)}.`];
  if (llr <= stopLower) return ["reject", `LLR ${llr.toFixed(3)} reached ${stopLower.toFixed(3)}.`];
  const between = `LLR ${llr.toFixed(3)} lies between ${stopLower.toFixed(3)} and ${stopUpper.toFixed(3)}`;
  return [waiting, atCap ? `${between} at the cap of ${plan.capBlocks} blocks.` : `${between}.`];
}

const share = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Looks at the results once. The caller looks after every batch and stops at the first decision but "continue". */
export function sprt(counts: readonly number[], blocks: BlockShape, plan: SprtPlan, redundancy = 0): SprtResult {
  checkPlan(plan);
  checkRedundancy(redundancy);
  const total = checkCounts(counts, blocks);
  const { llr, deviationPerBlock } = logLikelihoodRatio(counts, blocks, plan);
  const { lower, upper } = waldBounds(plan);
  const overshoot = OVERSHOOT * deviationPerBlock * Math.sqrt(plan.batchBlocks);
  const result = {
    llr,
    lower,
    upper,
    stopLower: drawnIn(lower, overshoot),
    stopUpper: drawnIn(upper, overshoot),
    blocks: total,
    games: total * blocks.gamesPerBlock,
    redundancy,
  };
  const [decision, reason] = decide(plan, result);
  return { decision, reason, ...result };
}

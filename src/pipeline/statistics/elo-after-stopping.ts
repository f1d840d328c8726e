import { type BlockShape, momentsOf } from "./block.ts";
import { ELO_PER_NAT, eloOfScore, estimateElo, type Interval, normalizedEloOfT } from "./elo.ts";
import { findRootFrom } from "./roots.ts";
import { outcomeProbability, WIDEST_SPAN } from "./sequential-outcome.ts";
import { drawnIn, logLikelihoodRatio, OVERSHOOT, waldBounds } from "./sprt.ts";
import { checkPlan, type SprtPlan } from "./sprt-plan.ts";

export interface StoppedElo {
  readonly confidence: number;
  readonly elo: Interval;
  readonly normalizedElo: Interval;
  /**
   * "posterior" where the counts are too lopsided to know the noise of a block; "fixed" where the test would have ended
   * long before these results, so that they cannot come from it.
   */
  readonly method: "sequential" | "posterior" | "fixed";
}

/** More looks than this change nothing that could be seen in the answer. */
const MAX_LOOKS = 128;

/**
 * Elo of a test that stopped because of its own results. Such a test stops on a lucky streak, so its plain score flatters
 * the winner. The median-unbiased estimate is the difference at which outcomes above and below the observed one are
 * equally likely, counting how the test stops; the ends of the interval are where one side has only the tail's chance.
 *
 * The log-likelihood ratio over the deviation of one block's share of it is a walk that gains one unit of variance a
 * block and stops at the test's own bounds; its drift and the t-value of the score move together, one for one.
 */
export function eloAfterStopping(
  counts: readonly number[],
  blocks: BlockShape,
  plan: SprtPlan,
  confidence = 0.95,
): StoppedElo {
  checkPlan(plan);
  const plain = estimateElo(counts, blocks, confidence);
  const plainly = (method: "posterior" | "fixed"): StoppedElo => ({
    confidence,
    elo: plain.elo,
    normalizedElo: plain.normalizedElo,
    method,
  });
  if (plain.method === "posterior") return plainly("posterior");

  const { blocks: total, mean, variance } = momentsOf(counts, blocks.scores);
  const { llr, deviationPerBlock } = logLikelihoodRatio(counts, blocks, plan);
  const { lower, upper } = waldBounds(plan);
  const final = llr / deviationPerBlock;
  // Where the walk is long for its noise fewer looks are taken, so that the quadrature keeps its nodes close enough.
  const span = Math.min((upper - lower) / deviationPerBlock, Math.abs(final) + 20 * Math.sqrt(total));
  const closest = Math.floor(total * (WIDEST_SPAN / span) ** 2);
  const looks = Math.max(1, Math.min(MAX_LOOKS, closest, Math.round(total / plan.batchBlocks)));
  const stepVariance = total / looks;
  const overshoot = OVERSHOOT * Math.sqrt(stepVariance);
  const stop = (bound: number) => drawnIn(bound / deviationPerBlock, overshoot);
  const before = (final * (looks - 1)) / looks;
  if (Math.abs(before) - 5 * Math.sqrt(stepVariance) > Math.abs(stop(before < 0 ? lower : upper)))
    return plainly("fixed");

  const higher = outcomeProbability({ lower: stop(lower), upper: stop(upper), looks, stepVariance }, final);

  const tail = (1 - confidence) / 2;
  const shift = (chance: number) =>
    findRootFrom((drift) => higher(drift) - chance, final / total, 4 / Math.sqrt(total), 1e-9) - final / total;
  const shifts = [shift(0.5), shift(tail), shift(1 - tail)] as const;
  const interval = (estimate: number, eloPerShift: number): Interval => ({
    estimate: estimate + shifts[0] * eloPerShift,
    low: estimate + shifts[1] * eloPerShift,
    high: estimate + shifts[2] * eloPerShift,
  });
  const deviation = Math.sqrt((variance * total) / (total - 1));
  return {
    confidence,
    elo: interval(eloOfScore(mean, blocks.players), (ELO_PER_NAT * deviation) / (mean * (1 - mean))),
    normalizedElo: interval(plain.normalizedElo.estimate, normalizedEloOfT(1, blocks)),
    method: "sequential",
  };
}

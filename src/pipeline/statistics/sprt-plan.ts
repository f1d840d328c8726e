import { checkBetween, checkCount, checkFinite, invalid } from "./checks.ts";

export type EloModel = "logistic" | "normalized";

export interface SprtPlan {
  readonly model: EloModel;
  /** The two Elo differences to tell apart, [H0, H1], in the scale of the model. */
  readonly bounds: readonly [number, number];
  /** The chance to promote at H0. */
  readonly alpha: number;
  /** The chance to reject at H1. */
  readonly beta: number;
  /** Looks happen at whole batches only: blocks that finish early are short games, and short games are biased. */
  readonly batchBlocks: number;
  /** Where an undecided test ends as inconclusive; a whole number of batches. Without it the test has no end. */
  readonly capBlocks?: number;
}

const MAX_ELO = 2000;

/** 400 blocks for [0, 50]; a finer difference needs more by the square. */
export const capFor = ([h0, h1]: readonly [number, number], batchBlocks: number): number =>
  Math.ceil((400 * (50 / (h1 - h0)) ** 2) / batchBlocks) * batchBlocks;

export function checkPlan(plan: SprtPlan): void {
  if (plan.model !== "logistic" && plan.model !== "normalized")
    throw invalid("MODEL", `The model is logistic or normalized, not ${String(plan.model)}.`);
  for (const bound of plan.bounds) {
    checkFinite(bound, "BOUNDS", "A bound");
    if (Math.abs(bound) > MAX_ELO)
      throw invalid("BOUNDS", `A bound lies within -${MAX_ELO} and ${MAX_ELO} Elo, not ${bound}.`);
  }
  const [h0, h1] = plan.bounds;
  if (plan.bounds.length !== 2 || !(h0 < h1))
    throw invalid("BOUNDS", `Two bounds are needed, the first below the second, not [${plan.bounds.join(", ")}].`);
  checkBetween(plan.alpha, 0, 0.5, "ERROR_RATE", "alpha");
  checkBetween(plan.beta, 0, 0.5, "ERROR_RATE", "beta");
  checkCount(plan.batchBlocks, 1, "BATCH", "The batch");
  if (plan.capBlocks === undefined) return;
  checkCount(plan.capBlocks, 1, "CAP", "The cap");
  if (plan.capBlocks % plan.batchBlocks !== 0)
    throw invalid(
      "CAP",
      `The cap of ${plan.capBlocks} blocks is no whole number of batches of ${plan.batchBlocks}.`,
      "A test decides on whole batches only; choose a multiple.",
    );
}

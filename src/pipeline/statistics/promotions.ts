import { checkBetween, checkCount, invalid } from "./checks.ts";

/** Gates that were run alike: how many came to an end, and how many of them promoted. */
export interface GateTally {
  readonly gates: number;
  readonly promotions: number;
  readonly alpha: number;
  readonly beta: number;
}

export interface FalsePromotions {
  readonly gates: number;
  readonly promotions: number;
  /** The expected number if no candidate at all had been better. */
  readonly atMost: number;
  /** The expected number, given how many passed. */
  readonly expected: number;
}

/**
 * How many promotions so far were probably mistakes. If a share s of the candidates is no better, a gate promotes with
 * chance s * alpha + (1 - s) * (1 - beta); the promotions seen give s, and s * alpha * gates are false.
 */
export function falsePromotions(tallies: readonly GateTally[]): FalsePromotions {
  let gates = 0;
  let promotions = 0;
  let atMost = 0;
  let expected = 0;
  for (const tally of tallies) {
    checkCount(tally.gates, 0, "GATES", "The number of gates");
    checkCount(tally.promotions, 0, "GATES", "The number of promotions");
    checkBetween(tally.alpha, 0, 0.5, "ERROR_RATE", "alpha");
    checkBetween(tally.beta, 0, 0.5, "ERROR_RATE", "beta");
    if (tally.promotions > tally.gates)
      throw invalid("GATES", `${tally.promotions} promotions cannot come from ${tally.gates} gates.`);
    gates += tally.gates;
    promotions += tally.promotions;
    atMost += tally.alpha * tally.gates;
    const power = 1 - tally.beta;
    const unimproved = (power * tally.gates - tally.promotions) / (power - tally.alpha);
    expected += tally.alpha * Math.min(tally.gates, Math.max(0, unimproved));
  }
  return { gates, promotions, atMost, expected };
}

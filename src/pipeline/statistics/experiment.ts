/** What several runs with different seeds say of a change, and how many of many such findings may be luck. */
import { sumOf } from "../../kernel/index.ts";
import { checkBetween, checkFinite, invalid } from "./checks.ts";
import type { Interval } from "./elo.ts";
import { studentQuantile, studentTwoSided } from "./special-functions.ts";

/** The mean difference of pairs that share a seed, with its interval. What runs differ in by luck is in it: a seed is one observation. */
export interface PairedDifference extends Interval {
  readonly seeds: number;
  /** Of one seed's difference. */
  readonly deviation: number;
  /** The chance of a mean as far from zero, or further, if there were no difference. */
  readonly pValue: number;
}

const MIN_SEEDS = 2;
/** What sums of the same numbers may differ by: less is no difference, however often it is seen. */
const ROUNDING = 1e-6;

export function pairedDifference(differences: readonly number[], confidence = 0.95): PairedDifference {
  checkBetween(confidence, 0, 1, "CONFIDENCE", "The confidence");
  const n = differences.length;
  if (n < MIN_SEEDS)
    throw invalid("SEEDS", `${n} seeds tell nothing of how much runs differ by luck: at least ${MIN_SEEDS} do.`);
  for (const difference of differences) checkFinite(difference, "DIFFERENCE", "A difference");
  const estimate = sumOf(differences) / n;
  const deviation = Math.sqrt(sumOf(differences, (each) => (each - estimate) ** 2) / (n - 1));
  const error = deviation / Math.sqrt(n);
  const reach = error * studentQuantile(1 - (1 - confidence) / 2, n - 1);
  const isNothing = differences.every((each) => Math.abs(each) < ROUNDING);
  const pValue = isNothing ? 1 : error === 0 ? 0 : studentTwoSided(estimate / error, n - 1);
  return { estimate, low: estimate - reach, high: estimate + reach, seeds: n, deviation, pValue };
}

/**
 * Benjamini and Hochberg: which of many findings to believe, so that at most `rate` of those believed are expected to be luck. Gives for
 * each the lowest rate at which it would be believed, in the order given.
 */
export function discoveryRates(pValues: readonly number[]): number[] {
  for (const p of pValues)
    if (!(p >= 0 && p <= 1)) throw invalid("P_VALUE", `A p-value lies within 0 and 1, not at ${p}.`);
  const order = pValues.map((_, i) => i).sort((a, b) => pValues[b]! - pValues[a]!);
  const rates = [...pValues];
  let least = 1;
  for (const [place, i] of order.entries()) {
    least = Math.min(least, (pValues[i]! * pValues.length) / (pValues.length - place));
    rates[i] = least;
  }
  return rates;
}

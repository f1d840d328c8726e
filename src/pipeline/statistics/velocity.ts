import { checkBetween, checkFinite, invalid } from "./checks.ts";
import type { Interval } from "./elo.ts";
import { normalQuantile, studentQuantile } from "./special-functions.ts";

export interface RatedPoint {
  /** Where on the way: hours, games, doublings of rows. */
  readonly at: number;
  readonly elo: number;
  readonly standardError: number;
}

export interface Velocity {
  /** Elo for one unit of `at`. */
  readonly slope: Interval;
  readonly standardError: number;
  readonly confidence: number;
  /** Upper bound that the true slope stays under with the given confidence, one-sided. */
  readonly upperBound: number;
  /** The weighted mean of `at` and the line's Elo there. */
  readonly centre: { readonly at: number; readonly elo: number };
  readonly points: number;
  /** Chi-square of the residuals over its degrees of freedom: well above 1 when a line is not the whole story. */
  readonly misfit: number;
}

/**
 * How fast the Elo rises: a straight line through rated points, each weighted by the inverse of its variance. Where the
 * points scatter more than their errors say, the error of the slope is widened by that much and taken from Student's
 * distribution, because the spread was then estimated from these few points.
 */
export function eloVelocity(points: readonly RatedPoint[], confidence = 0.95): Velocity {
  checkBetween(confidence, 0, 1, "CONFIDENCE", "The confidence");
  let weights = 0;
  let sumAt = 0;
  let sumElo = 0;
  for (const { at, elo, standardError } of points) {
    checkFinite(at, "POINTS", "The place of a point");
    checkFinite(elo, "POINTS", "The Elo of a point");
    checkFinite(standardError, "POINTS", "The standard error of a point");
    if (standardError <= 0)
      throw invalid(
        "POINTS",
        `The standard error of a point must be above 0, not ${standardError}.`,
        "Leave anchors out.",
      );
    const weight = standardError ** -2;
    weights += weight;
    sumAt += weight * at;
    sumElo += weight * elo;
  }
  const centre = { at: sumAt / weights, elo: sumElo / weights };
  let spread = 0;
  let product = 0;
  for (const { at, elo, standardError } of points) {
    const weight = standardError ** -2;
    spread += weight * (at - centre.at) ** 2;
    product += weight * (at - centre.at) * (elo - centre.elo);
  }
  if (new Set(points.map(({ at }) => at)).size < 2 || !(spread > 0))
    throw invalid("POINTS", "A slope needs points at two different places.");
  const estimate = product / spread;
  let chiSquare = 0;
  for (const { at, elo, standardError } of points)
    chiSquare += ((elo - centre.elo - estimate * (at - centre.at)) / standardError) ** 2;
  const degrees = points.length - 2;
  const misfit = degrees > 0 ? chiSquare / degrees : 0;
  const scattered = misfit > 1;
  const standardError = Math.sqrt((scattered ? misfit : 1) / spread);
  const quantile = (p: number) => (scattered ? studentQuantile(p, degrees) : normalQuantile(p));
  const reach = quantile((1 + confidence) / 2) * standardError;
  return {
    slope: { estimate, low: estimate - reach, high: estimate + reach },
    standardError,
    confidence,
    upperBound: estimate + quantile(confidence) * standardError,
    centre,
    points: points.length,
    misfit,
  };
}

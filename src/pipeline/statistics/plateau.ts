import { checkBetween, checkCount, checkFinite, invalid } from "./checks.ts";
import type { Interval } from "./elo.ts";
import { normalQuantile, studentQuantile } from "./special-functions.ts";
import { eloVelocity } from "./velocity.ts";

/** One measured value: more is better. `error` is its standard error; 0 where nobody knows it, and the scatter has to tell. */
export interface TrendPoint {
  /** Where on the way: iterations, games. */
  readonly at: number;
  readonly value: number;
  readonly error: number;
}

export interface TrendRule {
  /** The newest points that are looked at. A plateau needs all of them. */
  readonly window: number;
  /** Growth for one unit of `at` below which a measure stands still. */
  readonly least: number;
  /** How sure a plateau must be: on a measure that grows by `least` or more, at most 1 - confidence of all calls are false. */
  readonly confidence: number;
}

export interface TrendVerdict {
  /** Growth for one unit of `at`, with its 95 % interval. */
  readonly slope: Interval;
  /** What the true growth stays under, as sure as the rule asks for. */
  readonly upperBound: number;
  readonly trend: "improving" | "stable" | "declining";
  readonly points: number;
  readonly plateau: boolean;
}

/** What one of a row of candidates was stronger by than a champion, which was the candidate `lag` units of `at` before it. */
export interface MeasuredGrowth {
  readonly lag: number;
  readonly gain: number;
  readonly error: number;
  /** Whether the candidate became the champion. */
  readonly kept: boolean;
}

/** Fewer points draw no line that says anything of its error. */
const LEAST_POINTS = 4;
/** Stands for an error that nobody knows: so small that the scatter of the points decides. */
const UNKNOWN_ERROR = 1e-9;

/**
 * Where a measure goes: a straight line through its newest points. It stands on a plateau when the whole window is there and the
 * growth is known to be small. A growth that is hardly known is none: nothing is called a plateau for lack of measurements.
 */
export function judgeTrend(points: readonly TrendPoint[], rule: TrendRule): TrendVerdict | undefined {
  check(points, rule);
  const recent = points.slice(-rule.window);
  if (recent.length < LEAST_POINTS || new Set(recent.map(({ at }) => at)).size < 2) return undefined;
  const line = recent.map(({ at, value, error }) => ({
    at,
    elo: value,
    standardError: Math.max(UNKNOWN_ERROR, error),
  }));
  const { slope } = eloVelocity(line);
  return verdictOf(slope, eloVelocity(line, rule.confidence).upperBound, recent.length, rule);
}

/**
 * How fast candidates get stronger, from what each gained over its champion: a line through nothing, since who is 0 iterations apart is
 * equally strong. No gain is added to another. So a champion that came to its place by luck does not look like growth: the
 * candidates after it are measured against what it really is. A plateau also needs that what was kept adds up to little: a line is slow to see
 * that a leap has ended a long rest.
 */
export function judgeGrowth(gains: readonly MeasuredGrowth[], rule: TrendRule): TrendVerdict | undefined {
  check(gains, rule);
  const recent = gains.slice(-rule.window);
  if (recent.length < LEAST_POINTS) return undefined;
  let spread = 0;
  let product = 0;
  for (const { lag, gain, error } of recent) {
    checkFinite(gain, "TREND", "A gain");
    checkFinite(lag, "TREND", "The lag of a gain");
    if (!(lag > 0)) throw invalid("TREND", `A candidate comes after its champion, not ${lag} before it.`);
    if (!(error > 0)) throw invalid("TREND", `The standard error of a gain must be above 0, not ${error}.`);
    spread += (lag / error) ** 2;
    product += (lag * gain) / error ** 2;
  }
  const estimate = product / spread;
  const degrees = recent.length - 1;
  const misfit =
    recent.reduce((sum, { lag, gain, error }) => sum + ((gain - estimate * lag) / error) ** 2, 0) / degrees;
  const standardError = Math.sqrt(Math.max(1, misfit) / spread);
  const quantile = (p: number) => (misfit > 1 ? studentQuantile(p, degrees) : normalQuantile(p));
  const reach = quantile(0.975) * standardError;
  const slope = { estimate, low: estimate - reach, high: estimate + reach };
  const verdict = verdictOf(slope, estimate + quantile(rule.confidence) * standardError, recent.length, rule);
  const kept = recent.reduce((sum, each) => sum + (each.kept ? each.gain : 0), 0);
  return { ...verdict, plateau: verdict.plateau && kept < rule.least * rule.window };
}

function check(points: readonly { readonly error: number }[], rule: TrendRule): void {
  checkCount(rule.window, LEAST_POINTS, "TREND", "The window of a trend");
  checkFinite(rule.least, "TREND", "The least growth");
  checkBetween(rule.confidence, 0, 1, "CONFIDENCE", "The confidence");
  for (const { error } of points) {
    checkFinite(error, "TREND", "The standard error of a point");
    if (error < 0) throw invalid("TREND", `The standard error of a point cannot be negative, as ${error} is.`);
  }
}

const verdictOf = (slope: Interval, upperBound: number, points: number, rule: TrendRule): TrendVerdict => ({
  slope,
  upperBound,
  trend: slope.low > 0 ? "improving" : slope.high < 0 ? "declining" : "stable",
  points,
  plateau: points >= rule.window && upperBound < rule.least,
});

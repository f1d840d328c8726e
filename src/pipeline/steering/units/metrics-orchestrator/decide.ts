/** What the measurements of a config say, as pure functions. */
import { judgeTrend, type TrendPoint, type TrendVerdict } from "../../../statistics/index.ts";
import type { Measured } from "../../gates.ts";
import { ANOMALY_DEVIATIONS, ANOMALY_POINTS, TREND_WINDOW } from "../../limits.ts";
import type { Metric, Trend } from "../../tables.ts";

interface Reading {
  /** Growth for one iteration below which it stands still. */
  readonly least: number;
  /** How it is read, so that a straight line fits and more is better. */
  readonly read: (value: number) => number;
  readonly isGood: "more" | "less";
}

/** Losses shrink by ratios: their logarithm is a line. */
const asLoss = (value: number): number => -Math.log(value);
const asIs = (value: number): number => value;

/**
 * How each measure is read. The line of the Elo is drawn by its gates. A loss that shrinks by less than 0.2 % an iteration has been learned. The
 * others have no goal: their trend is told, and they have no plateau.
 */
const READINGS: Readonly<Record<Metric, Reading>> = {
  elo: { least: 0, read: asIs, isGood: "more" },
  loss: { least: 0.002, read: asLoss, isGood: "less" },
  quality: { least: Number.NEGATIVE_INFINITY, read: asIs, isGood: "more" },
  games_per_second: { least: Number.NEGATIVE_INFINITY, read: asIs, isGood: "more" },
  retries: { least: Number.NEGATIVE_INFINITY, read: (value) => -value, isGood: "less" },
};

const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** From median absolute deviation to standard deviation. */
const TO_DEVIATION = 1.4826;

/** What the newest value was expected to be, if it is far off: by how many deviations of those before it. */
export function anomalyIn(values: readonly number[], error = 0): { expected: number; deviations: number } | null {
  const last = values.at(-1);
  const before = values.slice(-TREND_WINDOW - 1, -1);
  if (last === undefined || before.length < ANOMALY_POINTS) return null;
  const expected = medianOf(before);
  const deviation = TO_DEVIATION * medianOf(before.map((value) => Math.abs(value - expected)));
  // A measure that never moved has no scatter: a hundredth of it is the least that is odd.
  const scale = Math.max(deviation, error, 0.01 * Math.abs(expected), Number.EPSILON);
  const deviations = (last - expected) / scale;
  return Math.abs(deviations) > ANOMALY_DEVIATIONS ? { expected, deviations } : null;
}

interface TrendFacts {
  /** What was known before. */
  readonly before?: Trend | undefined;
  /** The line, where it is drawn through something else than the values. */
  readonly line?: TrendVerdict | undefined;
}

/** The trend of a measure over its newest values; undefined while none can be read. */
export function trendOf(metric: Metric, measured: readonly Measured[], facts: TrendFacts = {}): Trend | undefined {
  const { read, least, isGood } = READINGS[metric];
  const good = measured.filter(({ value, error }) => Number.isFinite(read(value)) && Number.isFinite(error));
  const last = good.at(-1);
  if (last === undefined) return undefined;
  const isPlateauKnown = Number.isFinite(least);
  const { before } = facts;
  const points = good.map(({ iteration, value, error }): TrendPoint => ({ at: iteration, value: read(value), error }));
  const line =
    "line" in facts
      ? facts.line
      : judgeTrend(points, { window: TREND_WINDOW, least: isPlateauKnown ? least : 0, confidence: 0.95 });
  const best = good.reduce((so, each) =>
    (isGood === "more" ? each.value > so.value : each.value < so.value) ? each : so,
  );
  const isPlateau = isPlateauKnown && line?.plateau === true;
  return {
    value: last.value,
    iteration: last.iteration,
    points: line?.points ?? good.length,
    slope: line === undefined ? null : { estimate: line.slope.estimate, low: line.slope.low, high: line.slope.high },
    trend: line?.trend ?? "stable",
    best: { value: best.value, iteration: best.iteration, at: best.at },
    plateau_since: isPlateau ? (before?.plateau_since ?? last.iteration) : null,
    anomaly: anomalyIn(
      good.map(({ value }) => value),
      metric === "elo" ? last.error : 0,
    ),
  };
}

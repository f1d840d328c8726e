/** Steering in words, the same on every surface. */
import type { ConfigSnapshot } from "../../pipeline/snapshot.ts";

type SteeringView = NonNullable<ConfigSnapshot["steering"]>;
type Trend = SteeringView["trends"][number];

const short = (value: number): string => String(Number(value.toPrecision(3)));

/** Losses are read by their logarithm: their growth is a share. */
const growth = (metric: string, value: number): string =>
  metric === "loss" ? `${short(100 * value)} %` : short(value);

/** Where a measure goes, in one line. */
export function trendWords({ metric, value, slope, trend, points, plateau_since, anomaly }: Trend): string {
  const odd = anomaly === null ? "" : `; ${short(value)} is odd, ${short(anomaly.expected)} was expected`;
  const now = `${short(value)} now`;
  if (slope === null) return `${now}; ${points} measured, too few for a trend${odd}`;
  const give = growth(metric, (slope.high - slope.low) / 2);
  const line = `${trend} by ${growth(metric, slope.estimate)} an iteration, give or take ${give}`;
  const still = plateau_since === null ? "" : `; too little to count since iteration ${plateau_since}`;
  return `${now}; ${line}${still}${odd}`;
}

/** The knobs that change something, in one line; undefined where none does. */
export function knobsWords({ knobs }: SteeringView): string | undefined {
  const turned = knobs.filter(({ value }) => value !== 1);
  if (turned.length === 0) return undefined;
  return turned
    .map(({ knob, value, held }) => `${knob} x ${short(value)}${held === null ? "" : ` (held by ${held.by})`}`)
    .join(", ");
}

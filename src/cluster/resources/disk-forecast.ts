/** When a disk will be full, told only where its growth is steady enough to say so. */

export interface DiskPoint {
  readonly at: number;
  readonly usedBytes: number;
}

export interface ForecastPolicy {
  readonly leastPoints: number;
  readonly leastSpanMs: number;
  /** Share of the variation that a straight line must explain. */
  readonly leastFit: number;
  /** Points are no closer than this, and no more than so many are kept. */
  readonly everyMs: number;
  readonly mostPoints: number;
}

export const forecastDefaults: ForecastPolicy = {
  leastPoints: 20,
  leastSpanMs: 1_800_000,
  leastFit: 0.9,
  everyMs: 60_000,
  mostPoints: 360,
};

/** Adds a point unless the last one is too near; forgets the oldest. A clean-up begins the line anew. */
export function withPoint(
  points: readonly DiskPoint[],
  point: DiskPoint,
  policy: ForecastPolicy,
): readonly DiskPoint[] {
  const last = points.at(-1);
  if (last !== undefined && (point.at < last.at || point.usedBytes < last.usedBytes * 0.98)) return [point];
  if (last !== undefined && point.at - last.at < policy.everyMs) return points;
  return [...points.slice(-(policy.mostPoints - 1)), point];
}

/** Milliseconds until the free space is used up at the measured rate; null where nothing can be said. */
export function fullInMs(points: readonly DiskPoint[], freeBytes: number, policy: ForecastPolicy): number | null {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < policy.leastPoints) return null;
  if (last.at - first.at < policy.leastSpanMs) return null;
  const n = points.length;
  const meanT = points.reduce((sum, { at }) => sum + (at - first.at), 0) / n;
  const meanB = points.reduce((sum, { usedBytes }) => sum + (usedBytes - first.usedBytes), 0) / n;
  let tt = 0;
  let tb = 0;
  let bb = 0;
  for (const { at, usedBytes } of points) {
    const t = at - first.at - meanT;
    const b = usedBytes - first.usedBytes - meanB;
    tt += t * t;
    tb += t * b;
    bb += b * b;
  }
  const slope = tb / tt;
  if (!(slope > 0) || (tb * tb) / (tt * bb) < policy.leastFit) return null;
  return freeBytes / slope;
}

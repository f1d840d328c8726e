/** When a disk will be full, told only where its growth is steady enough to say so. */

export interface DiskPoint {
  readonly at: number;
  readonly usedBytes: number;
}

export const forecastDefaults = {
  minPoints: 20,
  minSpanMs: 1_800_000,
  /** Share of the variation that a straight line must explain. */
  minFit: 0.9,
  /** Points are no closer than this, and no more than so many are kept. */
  everyMs: 60_000,
  maxPoints: 360,
};
export type ForecastPolicy = typeof forecastDefaults;

/** Adds a point unless the last one is too near; forgets the oldest. A clean-up begins the line anew. */
export function withPoint(
  points: readonly DiskPoint[],
  point: DiskPoint,
  policy: ForecastPolicy,
): readonly DiskPoint[] {
  const last = points.at(-1);
  if (last !== undefined && (point.at < last.at || point.usedBytes < last.usedBytes * 0.98)) return [point];
  if (last !== undefined && point.at - last.at < policy.everyMs) return points;
  return [...points.slice(-(policy.maxPoints - 1)), point];
}

/** Milliseconds until the free space is used up at the measured rate; null where nothing can be said. */
export function fullInMs(points: readonly DiskPoint[], freeBytes: number, policy: ForecastPolicy): number | null {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < policy.minPoints) return null;
  if (last.at - first.at < policy.minSpanMs) return null;
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
  if (!(slope > 0) || (tb * tb) / (tt * bb) < policy.minFit) return null;
  return freeBytes / slope;
}

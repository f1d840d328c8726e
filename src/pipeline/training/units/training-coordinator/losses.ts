/** What the losses of a config's runs say, as pure functions over their history. */
import { sumOf } from "../../../../kernel/index.ts";
import { LEAST_FACTOR, LEAST_RUNS, LOSS_DEVIATIONS, LOSS_WINDOW, NOTICEABLE_LOSS } from "../../limits.ts";

const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

export interface LossAnomaly {
  readonly anomaly: "spike" | "drop" | "not_finite";
  readonly expected?: number;
  /** The factor over or under the expected loss that counts. */
  readonly threshold?: number;
}

/**
 * Whether a loss left the band of the runs before it, oldest first: a factor over or under their median, widened by how much
 * they scatter. Ratios are what counts, as losses shrink by ratios.
 */
export function lossAnomaly(loss: number, before: readonly number[]): LossAnomaly | undefined {
  if (!Number.isFinite(loss)) return { anomaly: "not_finite" };
  const recent = before.slice(-LOSS_WINDOW);
  if (recent.length < LEAST_RUNS || loss <= 0) return undefined;
  const logs = recent.map((value) => Math.log(value));
  const middle = medianOf(logs);
  const spread = medianOf(logs.map((value) => Math.abs(value - middle)));
  const band = Math.max(Math.log(LEAST_FACTOR), LOSS_DEVIATIONS * spread);
  const off = Math.log(loss) - middle;
  if (Math.abs(off) <= band) return undefined;
  return { anomaly: off > 0 ? "spike" : "drop", expected: Math.exp(middle), threshold: Math.exp(band) };
}

export type LossTrend = "improving" | "stable" | "declining";

/** The direction of the last runs' losses, oldest first: the slope of a line through their logarithms, over the window. */
export function lossTrend(losses: readonly number[]): { trend: LossTrend; first: number; runs: number } | undefined {
  const recent = losses.slice(-LOSS_WINDOW);
  if (recent.length < LEAST_RUNS) return undefined;
  const middle = (recent.length - 1) / 2;
  const logs = recent.map((value) => Math.log(value));
  const mean = sumOf(logs) / logs.length;
  let product = 0;
  let squares = 0;
  for (const [at, value] of logs.entries()) {
    product += (at - middle) * (value - mean);
    squares += (at - middle) ** 2;
  }
  const change = (product / squares) * (recent.length - 1);
  const trend = change < -NOTICEABLE_LOSS ? "improving" : change > NOTICEABLE_LOSS ? "declining" : "stable";
  return { trend, first: recent[0]!, runs: recent.length };
}

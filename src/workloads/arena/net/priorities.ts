/**
 * Prioritised replay: rows that surprise a network are drawn more often, and count less each time they are drawn, so that what is learned
 * is the same on average.
 */
import { exp, log } from "../numerics/exp-log.ts";

/** A row that surprises nobody is still drawn now and then. */
const LEAST = 1e-3;

export interface PriorityConfig {
  /** How much surprise counts: 0 draws all rows alike, 1 in proportion to it. */
  readonly exponent: number;
  /** How much of the bias is taken back by weights in the loss: 0 nothing, 1 all. */
  readonly correction: number;
}

/** Draws rows by their priority. One number between 0 and 1 gives one row. */
export function createDraw(priorities: Float32Array, { exponent, correction }: PriorityConfig) {
  const count = priorities.length;
  const ends = new Float64Array(count);
  let total = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < count; i += 1) {
    const chance = exp(exponent * log(priorities[i]! + LEAST));
    if (chance < least) least = chance;
    total += chance;
    ends[i] = total;
  }
  // The row that is drawn the least often has the largest weight, which is 1.
  const largest = exp(-correction * log((count * least) / total));
  const chanceOf = (row: number): number => (ends[row]! - (row === 0 ? 0 : ends[row - 1]!)) / total;
  return {
    row(drawn: number): number {
      const wanted = drawn * total;
      let low = 0;
      let high = count - 1;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (ends[middle]! > wanted) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    weight: (row: number): number => exp(-correction * log(count * chanceOf(row))) / largest,
  };
}

export type Draw = ReturnType<typeof createDraw>;

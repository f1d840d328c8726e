import { sumOf } from "../../kernel/index.ts";
import { chiSquareUpper, studentTwoSided } from "./special-functions.ts";

/** Whether two samples come from one source: a signed residual in standard deviations, and its p-value. */
export interface Comparison {
  readonly residual: number;
  readonly pValue: number;
}

/** A sample of a quantity by its size, sum and sum of squares, which add up over producers. */
export type Sums = { readonly count: number; readonly sum: number; readonly squares: number };

/** Several samples as one; what is missing adds nothing. */
export const sumsOf = (all: readonly (Sums | undefined)[]): Sums => ({
  count: sumOf(all, (one) => one?.count ?? 0),
  sum: sumOf(all, (one) => one?.sum ?? 0),
  squares: sumOf(all, (one) => one?.squares ?? 0),
});

/** Chi-square needs about this many expected counts in a cell; smaller ones are joined. */
const LEAST_EXPECTED = 5;
const LEAST_COUNT = 20;

/** Joins rare cells until each expects enough in both rows. */
function joinRare(own: readonly number[], rest: readonly number[], leastShare: number): [number, number][] {
  const cells: [number, number][] = [];
  let open: [number, number] = [0, 0];
  // Rare ones first, so that they are joined with each other before they blur a common one.
  const order = own.map((_, cell) => cell).sort((a, b) => own[a]! + rest[a]! - own[b]! - rest[b]!);
  for (const cell of order) {
    open = [open[0] + own[cell]!, open[1] + rest[cell]!];
    if ((open[0] + open[1]) * leastShare < LEAST_EXPECTED) continue;
    cells.push(open);
    open = [0, 0];
  }
  return cells;
}

/** The chi-square test of homogeneity of two rows of counts; undefined where there is too little to compare. */
export function compareCounts(own: readonly number[], rest: readonly number[]): Comparison | undefined {
  const ownTotal = sumOf(own);
  const all = ownTotal + sumOf(rest);
  if (ownTotal === 0 || ownTotal === all) return undefined;
  const ownShare = ownTotal / all;
  const cells = joinRare(own, rest, Math.min(ownShare, 1 - ownShare));
  if (cells.length < 2) return undefined;
  let chiSquare = 0;
  let residual = 0;
  for (const [mine, others] of cells) {
    const share = (mine + others) / all;
    const excess = mine - ownTotal * share;
    chiSquare += excess ** 2 / (all * share * ownShare * (1 - ownShare));
    const standard = excess / Math.sqrt(ownTotal * share * (1 - share) * (1 - ownShare));
    if (Math.abs(standard) > Math.abs(residual)) residual = standard;
  }
  return { residual, pValue: chiSquareUpper(chiSquare, cells.length - 1) };
}

/** Welch's test of two means; undefined where there is too little to compare. */
export function compareMeans(own: Sums, rest: Sums): Comparison | undefined {
  if (own.count < LEAST_COUNT || rest.count < LEAST_COUNT) return undefined;
  const squaredError = ({ count, sum, squares }: Sums) => Math.max(0, squares - sum ** 2 / count) / (count - 1) / count;
  const a = squaredError(own);
  const b = squaredError(rest);
  const difference = own.sum / own.count - rest.sum / rest.count;
  if (difference === 0) return { residual: 0, pValue: 1 };
  if (a + b === 0) return { residual: Math.sign(difference) * Number.MAX_VALUE, pValue: 0 };
  const residual = difference / Math.sqrt(a + b);
  const degrees = (a + b) ** 2 / (a ** 2 / (own.count - 1) + b ** 2 / (rest.count - 1));
  return { residual, pValue: studentTwoSided(residual, degrees) };
}

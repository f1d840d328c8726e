import { assert } from "../../../kernel/index.ts";

/** The lower triangle L of a positive definite matrix L * L' (Cholesky), row by row. */
export function factorise(matrix: readonly Float64Array[]): Float64Array[] {
  const size = matrix.length;
  const lower = matrix.map(() => new Float64Array(size));
  for (let i = 0; i < size; i += 1) {
    const row = lower[i]!;
    for (let j = 0; j <= i; j += 1) {
      const other = lower[j]!;
      let sum = matrix[i]![j]!;
      for (let k = 0; k < j; k += 1) sum -= row[k]! * other[k]!;
      if (i === j) {
        assert(sum > 0, "the matrix is not positive definite");
        row[i] = Math.sqrt(sum);
      } else {
        row[j] = sum / other[j]!;
      }
    }
  }
  return lower;
}

/** The x with L * L' * x = right. */
export function solve(lower: readonly Float64Array[], right: ArrayLike<number>): Float64Array {
  const size = lower.length;
  const x = Float64Array.from(right);
  for (let i = 0; i < size; i += 1) {
    for (let k = 0; k < i; k += 1) x[i] = x[i]! - lower[i]![k]! * x[k]!;
    x[i] = x[i]! / lower[i]![i]!;
  }
  for (let i = size - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < size; k += 1) x[i] = x[i]! - lower[k]![i]! * x[k]!;
    x[i] = x[i]! / lower[i]![i]!;
  }
  return x;
}

/** The inverse of L * L', a row for each unit vector. */
export const invert = (lower: readonly Float64Array[]): Float64Array[] =>
  lower.map((_, unit) =>
    solve(
      lower,
      Float64Array.from(lower, (_row, i) => Number(i === unit)),
    ),
  );

/** Dense symmetric matrices, a row for each; all loops run along rows, which is what memory likes. */

/** A pivot below this share of its diagonal is rounding noise: the direction is all but unknown, and stays finite. */
const LEAST_PIVOT = 1e-13;
const LEAST_DIAGONAL = 1e-30;

/** The lower triangle L of a positive definite matrix L * L' (Cholesky). */
export function factorise(matrix: readonly Float64Array[]): Float64Array[] {
  const size = matrix.length;
  const lower = matrix.map(() => new Float64Array(size));
  for (let i = 0; i < size; i += 1) {
    const row = lower[i]!;
    for (let j = 0; j <= i; j += 1) {
      const other = lower[j]!;
      let sum = matrix[i]![j]!;
      for (let k = 0; k < j; k += 1) sum -= row[k]! * other[k]!;
      if (i === j) row[i] = Math.sqrt(Math.max(sum, LEAST_PIVOT * matrix[i]![i]!, LEAST_DIAGONAL));
      else row[j] = sum / other[j]!;
    }
  }
  return lower;
}

/** The x with L * L' * x = right. */
export function solve(lower: readonly Float64Array[], right: ArrayLike<number>): Float64Array {
  const x = Float64Array.from(right);
  for (let i = 0; i < lower.length; i += 1) {
    const row = lower[i]!;
    let sum = x[i]!;
    for (let k = 0; k < i; k += 1) sum -= row[k]! * x[k]!;
    x[i] = sum / row[i]!;
  }
  for (let i = lower.length - 1; i >= 0; i -= 1) {
    const row = lower[i]!;
    const value = x[i]! / row[i]!;
    x[i] = value;
    for (let k = 0; k < i; k += 1) x[k] = x[k]! - row[k]! * value;
  }
  return x;
}

/** The inverse of L * L': first that of L, then its product with its own transpose. */
export function invert(lower: readonly Float64Array[]): Float64Array[] {
  const size = lower.length;
  const half = lower.map(() => new Float64Array(size));
  for (let i = 0; i < size; i += 1) {
    const target = half[i]!;
    const row = lower[i]!;
    target[i] = 1;
    for (let k = 0; k < i; k += 1) {
      const factor = row[k]!;
      if (factor === 0) continue;
      const source = half[k]!;
      for (let j = 0; j <= k; j += 1) target[j] = target[j]! - factor * source[j]!;
    }
    for (let j = 0; j <= i; j += 1) target[j] = target[j]! / row[i]!;
  }
  const inverse = lower.map(() => new Float64Array(size));
  for (const source of half) {
    for (let i = 0; i < size; i += 1) {
      const factor = source[i]!;
      if (factor === 0) continue;
      const target = inverse[i]!;
      for (let j = 0; j < size; j += 1) target[j] = target[j]! + factor * source[j]!;
    }
  }
  return inverse;
}

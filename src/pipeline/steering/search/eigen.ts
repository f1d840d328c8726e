/** Eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's rotations: slow for large ones, exact and steady for ours. */

/** Sweeps over all pairs. Ten are plenty for twenty rows; who is not done by then has numbers that are none. */
const MAX_SWEEPS = 50;
const NEGLIGIBLE = 1e-300;

export interface Eigen {
  readonly values: readonly number[];
  /** Column k belongs to value k: `vectors[row][k]`. */
  readonly vectors: readonly (readonly number[])[];
}

const offDiagonal = (a: readonly (readonly number[])[]): number => {
  let sum = 0;
  for (const [i, row] of a.entries()) for (let j = 0; j < i; j += 1) sum += row[j]! * row[j]!;
  return sum;
};

export function eigenOf(matrix: readonly (readonly number[])[]): Eigen {
  const n = matrix.length;
  const a = matrix.map((row) => [...row]);
  const v = matrix.map((_, i) => matrix.map((__, j) => (i === j ? 1 : 0)));
  let scale = 0;
  for (const row of a) for (const each of row) scale += each * each;
  for (let sweep = 0; sweep < MAX_SWEEPS && offDiagonal(a) > Math.max(NEGLIGIBLE, 1e-30 * scale); sweep += 1)
    for (let p = 0; p < n; p += 1)
      for (let q = p + 1; q < n; q += 1) {
        const apq = a[p]![q]!;
        if (apq === 0) continue;
        const theta = (a[q]![q]! - a[p]![p]!) / (2 * apq);
        const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        rotate(a, v, p, q, c, t * c);
      }
  return { values: a.map((row, i) => row[i]!), vectors: v };
}

function rotate(a: number[][], v: number[][], p: number, q: number, c: number, s: number): void {
  const n = a.length;
  for (let k = 0; k < n; k += 1) {
    const [akp, akq] = [a[k]![p]!, a[k]![q]!];
    a[k]![p] = c * akp - s * akq;
    a[k]![q] = s * akp + c * akq;
  }
  for (let k = 0; k < n; k += 1) {
    const [apk, aqk] = [a[p]![k]!, a[q]![k]!];
    a[p]![k] = c * apk - s * aqk;
    a[q]![k] = s * apk + c * aqk;
    const [vkp, vkq] = [v[k]![p]!, v[k]![q]!];
    v[k]![p] = c * vkp - s * vkq;
    v[k]![q] = s * vkp + c * vkq;
  }
}

/**
 * exp and log from additions, multiplications and divisions alone. Those are exact by IEEE 754 on every machine, with
 * and without a JIT; `Math.exp` and `Math.log` may differ in their last bits between engines, and one bit changes a game.
 */

/** ln 2 in two parts; the first has so many zero bits at its end that its product with an exponent is exact. */
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;

const SMALLEST_EXPONENT = -1022;
const LARGEST_EXPONENT = 1023;

/** 2^k for every normal exponent; doubling and halving are exact. */
const POWERS_OF_TWO = (() => {
  const table = new Float64Array(LARGEST_EXPONENT - SMALLEST_EXPONENT + 1);
  table[-SMALLEST_EXPONENT] = 1;
  for (let k = 1; k <= LARGEST_EXPONENT; k += 1) table[k - SMALLEST_EXPONENT] = table[k - 1 - SMALLEST_EXPONENT]! * 2;
  for (let k = -1; k >= SMALLEST_EXPONENT; k -= 1) table[k - SMALLEST_EXPONENT] = table[k + 1 - SMALLEST_EXPONENT]! / 2;
  return table;
})();

/** e^x to about one unit in the last place; 0 below the normal range, Infinity above it. */
export function exp(x: number): number {
  if (Number.isNaN(x)) return x;
  if (x > 709.7) return Number.POSITIVE_INFINITY;
  if (x < -708) return 0;
  const k = Math.floor(x * Math.LOG2E + 0.5);
  const r = x - k * LN2_HIGH - k * LN2_LOW;
  // The Taylor series on |r| <= ln(2) / 2, where its 13th term is below half a unit in the last place.
  let sum = 1 / 6227020800;
  sum = sum * r + 1 / 479001600;
  sum = sum * r + 1 / 39916800;
  sum = sum * r + 1 / 3628800;
  sum = sum * r + 1 / 362880;
  sum = sum * r + 1 / 40320;
  sum = sum * r + 1 / 5040;
  sum = sum * r + 1 / 720;
  sum = sum * r + 1 / 120;
  sum = sum * r + 1 / 24;
  sum = sum * r + 1 / 6;
  sum = sum * r + 0.5;
  sum = sum * r + 1;
  sum = sum * r + 1;
  return k > LARGEST_EXPONENT
    ? sum * 2 * POWERS_OF_TWO[k - 1 - SMALLEST_EXPONENT]!
    : sum * POWERS_OF_TWO[k - SMALLEST_EXPONENT]!;
}

/** The exponent k with 2^k <= x < 2^(k+1), by binary search in the table: no bit views, so no byte order. */
const exponentOf = (x: number): number => {
  let low = 0;
  let high = POWERS_OF_TWO.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (POWERS_OF_TWO[middle]! <= x) low = middle;
    else high = middle - 1;
  }
  return low + SMALLEST_EXPONENT;
};

/** The natural logarithm to about one unit in the last place, for normal positive numbers; -Infinity at 0. */
export function log(x: number): number {
  if (Number.isNaN(x) || x < 0) return Number.NaN;
  if (x === 0) return Number.NEGATIVE_INFINITY;
  if (x === Number.POSITIVE_INFINITY) return x;
  if (x < POWERS_OF_TWO[0]!) return log(x * 18014398509481984) - 54 * (LN2_HIGH + LN2_LOW);
  // Counts are the common case: start near them instead of in the middle of the range of exponents.
  let k = x >= 1 && x < 2147483648 ? 31 - Math.clz32(x) : exponentOf(x);
  let m = x / POWERS_OF_TWO[k - SMALLEST_EXPONENT]!;
  if (m > Math.SQRT2) {
    m /= 2;
    k += 1;
  }
  // log(m) = 2 atanh(s); s^2 < 0.0295, so the term of s^21 is below half a unit in the last place.
  const s = (m - 1) / (m + 1);
  const z = s * s;
  let sum = 1 / 21;
  sum = sum * z + 1 / 19;
  sum = sum * z + 1 / 17;
  sum = sum * z + 1 / 15;
  sum = sum * z + 1 / 13;
  sum = sum * z + 1 / 11;
  sum = sum * z + 1 / 9;
  sum = sum * z + 1 / 7;
  sum = sum * z + 1 / 5;
  sum = sum * z + 1 / 3;
  const tail = 2 * s * z * sum;
  return k * LN2_HIGH + (2 * s + (tail + k * LN2_LOW));
}

/** base^exponent for a positive base. */
export const power = (base: number, exponent: number): number => (base === 0 ? 0 : exp(log(base) * exponent));

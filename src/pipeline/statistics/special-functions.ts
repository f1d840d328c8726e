import { findRoot } from "./roots.ts";

/** The few distributions the room needs, to about 14 digits, from their textbook series and continued fractions. */

const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156];
const HALF_LOG_TWO_PI = 0.5 * Math.log(2 * Math.PI);
const TINY = 1e-300;
const EPSILON = 1e-16;

/** ln Gamma(x) for x > 0: the recurrence carries x to 10 or more, Stirling's series does the rest. */
export function logGamma(x: number): number {
  let shift = 0;
  let y = x;
  while (y < 10) {
    shift += Math.log(y);
    y += 1;
  }
  let series = 0;
  let power = 1 / y;
  for (const coefficient of STIRLING) {
    series += coefficient * power;
    power /= y * y;
  }
  return (y - 0.5) * Math.log(y) - y + HALF_LOG_TWO_PI + series - shift;
}

/** The continued fraction 1 / (b(0) + a(1) / (b(1) + ...)) by the modified method of Lentz. */
function continuedFraction(term: (n: number) => { a: number; b: number }): number {
  let f = TINY;
  let c = TINY;
  let d = 0;
  for (let n = 0; n < 10_000; n += 1) {
    const { a, b } = term(n);
    d = b + a * d;
    if (d === 0) d = TINY;
    c = b + a / c;
    if (c === 0) c = TINY;
    d = 1 / d;
    const delta = c * d;
    f *= delta;
    if (Math.abs(delta - 1) < EPSILON) break;
  }
  return f;
}

/** The upper regularised incomplete gamma function Q(a, x). */
export function gammaUpper(a: number, x: number): number {
  if (x <= 0) return 1;
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let sum = 1 / a;
    let term = sum;
    for (let n = 1; n < 10_000 && term > sum * EPSILON; n += 1) {
      term *= x / (a + n);
      sum += term;
    }
    return 1 - front * sum;
  }
  return (
    front * continuedFraction((n) => (n === 0 ? { a: 1, b: x + 1 - a } : { a: n * (a - n), b: x + 2 * n + 1 - a }))
  );
}

/** The chance that a chi-square variable with `degrees` degrees of freedom exceeds x. */
export const chiSquareUpper = (x: number, degrees: number): number => gammaUpper(degrees / 2, x / 2);

const normalDensity = (x: number): number => Math.exp(-0.5 * x * x - HALF_LOG_TWO_PI);

/**
 * The chance that a standard normal variable exceeds x. Near the middle by the series x + x^3/3 + x^5/15 ..., in the tail by
 * the continued fraction of Mills' ratio, evaluated from far inside outwards.
 */
export function normalUpper(x: number): number {
  const size = Math.abs(x);
  let tail: number;
  if (size < 3) {
    let term = size;
    let sum = size;
    for (let n = 3; term > sum * EPSILON; n += 2) {
      term *= (size * size) / n;
      sum += term;
    }
    tail = 0.5 - sum * normalDensity(size);
  } else {
    let ratio = size;
    for (let n = 8 + Math.ceil(650 / (size * size)); n > 0; n -= 1) ratio = size + n / ratio;
    tail = normalDensity(size) / ratio;
  }
  return x >= 0 ? tail : 1 - tail;
}

export const normalCdf = (x: number): number => normalUpper(-x);

/** The x below which a standard normal variable lies with chance p: formula 26.2.23 of Abramowitz and Stegun, then Newton. */
export function normalQuantile(p: number): number {
  if (p === 0.5) return 0;
  const tail = Math.min(p, 1 - p);
  const t = Math.sqrt(-2 * Math.log(tail));
  let x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (let n = 0; n < 3; n += 1) {
    const step = (normalUpper(x) - tail) / normalDensity(x);
    x += step / (1 + 0.5 * x * step);
  }
  return p < 0.5 ? -x : x;
}

/** The regularised incomplete beta function I_x(a, b): the chance that a Beta(a, b) variable lies below x. */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaCdf(1 - x, b, a);
  const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) + logGamma(a + b) - logGamma(a) - logGamma(b)) / a;
  const fraction = continuedFraction((n) => {
    if (n === 0) return { a: 1, b: 1 };
    const m = n >> 1;
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    return { a: n % 2 === 0 ? even : odd, b: 1 };
  });
  return front * fraction;
}

/** The x below which a Beta(a, b) variable lies with chance p. */
export const betaQuantile = (p: number, a: number, b: number): number =>
  findRoot((x) => betaCdf(x, a, b) - p, 0, 1, 1e-13);

/** The x below which a Student variable with `degrees` degrees of freedom lies with chance p. */
export function studentQuantile(p: number, degrees: number): number {
  if (p === 0.5) return 0;
  const tail = Math.min(p, 1 - p);
  // The tail beyond t is half of I_x(degrees/2, 1/2) at x = degrees / (degrees + t^2).
  const x = betaQuantile(2 * tail, degrees / 2, 0.5);
  const t = Math.sqrt((degrees * (1 - x)) / x);
  return p < 0.5 ? -t : t;
}

/** The chance that a Student variable with `degrees` degrees of freedom lies further from 0 than t. */
export const studentTwoSided = (t: number, degrees: number): number =>
  betaCdf(degrees / (degrees + t * t), degrees / 2, 0.5);

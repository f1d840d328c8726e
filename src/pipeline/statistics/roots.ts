import { assert } from "../../kernel/index.ts";

const MAX_STEPS = 200;

/**
 * The zero of a monotone function inside a bracket. Regula falsi with the Illinois weight does the work; whenever two
 * steps did not halve the bracket, the third is a bisection, so the bracket shrinks whatever the function looks like.
 */
export function findRoot(f: (x: number) => number, low: number, high: number, tolerance = 1e-12): number {
  let a = low;
  let b = high;
  let fa = f(a);
  let fb = f(b);
  if (fa === 0) return a;
  if (fb === 0) return b;
  assert(fa < 0 !== fb < 0, `no sign change in [${low}, ${high}]`);
  let width = Math.abs(b - a);
  for (let step = 1; step <= MAX_STEPS; step += 1) {
    const bisect = step % 3 === 0 && Math.abs(b - a) > width / 2;
    if (step % 3 === 0) width = Math.abs(b - a);
    let x = bisect ? (a + b) / 2 : (a * fb - b * fa) / (fb - fa);
    if (!(x > Math.min(a, b) && x < Math.max(a, b))) x = (a + b) / 2;
    const fx = f(x);
    if (fx === 0) return x;
    if (fx < 0 === fb < 0) {
      fa /= 2;
    } else {
      a = b;
      fa = fb;
    }
    b = x;
    fb = fx;
    if (Math.abs(b - a) <= tolerance * Math.max(1, Math.abs(b))) return b;
  }
  return b;
}

/** The zero of an increasing function: the bracket grows by doubling from `start` until it holds a sign change. */
export function findRootFrom(f: (x: number) => number, start: number, width: number, tolerance = 1e-12): number {
  let reach = width;
  for (let step = 0; step < 60; step += 1) {
    const low = start - reach;
    const high = start + reach;
    if (f(low) <= 0 && f(high) >= 0) return findRoot(f, low, high, tolerance);
    reach *= 2;
  }
  throw new Error("assertion failed: the function has no zero within reach");
}

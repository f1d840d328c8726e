import type { Random } from "../../../kernel/index.ts";
import { exp, log } from "./exp-log.ts";

/** A standard normal number by the polar method: only log and square root, both exact everywhere. */
export function gaussian(random: Random): number {
  for (;;) {
    const u = 2 * random.next() - 1;
    const v = 2 * random.next() - 1;
    const s = u * u + v * v;
    if (s > 0 && s < 1) return u * Math.sqrt((-2 * log(s)) / s);
  }
}

/** A gamma variate by squeeze and rejection (Marsaglia and Tsang); shapes below 1 are boosted from shape + 1. */
function gamma(random: Random, shape: number): number {
  if (shape < 1) return gamma(random, shape + 1) * exp(log(random.next() + 1e-300) / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = gaussian(random);
    const t = 1 + c * x;
    if (t <= 0) continue;
    const v = t * t * t;
    if (log(random.next() + 1e-300) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
  }
}

/** Fills `out` with a symmetric Dirichlet sample. */
export function dirichlet(random: Random, concentration: number, count: number, out: Float64Array): void {
  let sum = 0;
  for (let i = 0; i < count; i += 1) {
    out[i] = gamma(random, concentration);
    sum += out[i]!;
  }
  for (let i = 0; i < count; i += 1) out[i] = sum > 0 ? out[i]! / sum : 1 / count;
}

/** One number out of two, for seeds of games, rounds and openings: neighbours are unrelated. */
export function mixSeed(seed: number, index: number): number {
  let z = (seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}

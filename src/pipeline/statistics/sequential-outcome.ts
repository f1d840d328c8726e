import { normalUpper } from "./special-functions.ts";

/**
 * How likely a random walk with a given drift ends up at least as high as the one that was seen, when it is looked at
 * after every step and stops at the first look outside its bounds. Outcomes are ordered by stage: leaving upwards early
 * is the highest, leaving downwards early the lowest, and what happens at the last look lies between by its value.
 *
 * The density of the walks still inside is carried from look to look by quadrature (the recursion of Armitage, McPherson
 * and Rowe). That is done once, with the drift d that was seen: another drift m changes the density at x, after the
 * variance v has gathered, by the factor exp((m - d) * x - (m * m - d * d) * v / 2).
 */
export interface WalkDesign {
  /** Bounds at a look, with lower < 0 < upper. */
  readonly lower: number;
  readonly upper: number;
  readonly looks: number;
  /** The variance that one step adds. */
  readonly stepVariance: number;
}

/** The widest range of a walk, in deviations of one step, that is resolved: half as many nodes again are enough. */
export const WIDEST_SPAN = 250;
const MAX_NODES = 400;

/** Nodes and weights of Gauss and Legendre on [low, high]: the zeros of the Legendre polynomial by Newton's method. */
function quadrature(order: number, low: number, high: number): { nodes: Float64Array; weights: Float64Array } {
  const nodes = new Float64Array(order);
  const weights = new Float64Array(order);
  const half = (high - low) / 2;
  for (let i = 0; i < order; i += 1) {
    let z = Math.cos((Math.PI * (i + 0.75)) / (order + 0.5));
    let slope = 1;
    for (let round = 0; round < 50; round += 1) {
      let p = 1;
      let before = 0;
      for (let n = 1; n <= order; n += 1) {
        const next = ((2 * n - 1) * z * p - (n - 1) * before) / n;
        before = p;
        p = next;
      }
      slope = (order * (z * p - before)) / (z * z - 1);
      const step = p / slope;
      z -= step;
      if (Math.abs(step) < 1e-15) break;
    }
    nodes[i] = low + half * (1 - z);
    weights[i] = (2 * half) / ((1 - z * z) * slope * slope);
  }
  return { nodes, weights };
}

/** The chance of an outcome at least as high as `final` at the last look, as an increasing function of the drift. */
export function outcomeProbability(design: WalkDesign, final: number): (drift: number) => number {
  const { looks, stepVariance } = design;
  const deviation = Math.sqrt(stepVariance);
  const beyond = (distance: number, drift: number) => normalUpper((distance - drift * stepVariance) / deviation);
  if (looks === 1) return (drift) => beyond(final, drift);

  // Nothing worth counting lies more than ten deviations outside of what was seen: wide bounds need no wider grid.
  const reach = 10 * deviation * Math.sqrt(looks);
  const low = Math.max(design.lower, Math.min(0, final) - reach);
  const high = Math.min(design.upper, Math.max(0, final) + reach);
  const order = Math.min(MAX_NODES, 24 + Math.ceil((1.5 * (high - low)) / deviation));
  const { nodes, weights } = quadrature(order, low, high);

  const scale = 1 / Math.sqrt(2 * Math.PI * stepVariance);
  const seen = final / (looks * stepVariance);
  const density = (distance: number) => scale * Math.exp(-((distance - seen * stepVariance) ** 2) / (2 * stepVariance));
  const kernel = new Float64Array(order * order);
  for (let to = 0; to < order; to += 1)
    for (let from = 0; from < order; from += 1)
      kernel[to * order + from] = weights[from]! * density(nodes[to]! - nodes[from]!);

  // Logarithms of weight times density, a row for each look but the last.
  const rows: Float64Array[] = [];
  let inside = Float64Array.from(nodes, density);
  for (let look = 1; look < looks; look += 1) {
    const current = inside;
    rows.push(current.map((value, i) => Math.log(value * weights[i]!)));
    if (look === looks - 1) break;
    inside = new Float64Array(order);
    for (let to = 0; to < order; to += 1) {
      let sum = 0;
      for (let from = 0; from < order; from += 1) sum += kernel[to * order + from]! * current[from]!;
      inside[to] = sum;
    }
  }

  return (drift) => {
    let probability = beyond(design.upper, drift);
    const leaves = nodes.map((x) => beyond(design.upper - x, drift));
    const ends = nodes.map((x) => beyond(final - x, drift));
    for (const [index, row] of rows.entries()) {
      const less = ((drift * drift - seen * seen) * (index + 1) * stepVariance) / 2;
      const chances = index === rows.length - 1 ? ends : leaves;
      for (let i = 0; i < order; i += 1)
        probability += Math.exp(row[i]! + (drift - seen) * nodes[i]! - less) * chances[i]!;
    }
    return probability;
  };
}

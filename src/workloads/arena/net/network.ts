import type { Random } from "../../../kernel/index.ts";
import { gaussian } from "../numerics/samplers.ts";
import { type Layout, layoutOf, type NetworkShape } from "./layout.ts";

/** Weights and where they lie. The weights may live in shared memory: workers read what a trainer wrote. */
export interface Network {
  readonly layout: Layout;
  readonly weights: Float32Array;
}

/**
 * A network that knows nothing: even policy, even values. Tables start at zero, so a pattern that was never seen adds
 * nothing; the second layer starts at random, which is enough to pull the hidden units apart.
 */
export function createNetwork(shape: NetworkShape, random: Random): Network {
  const layout = layoutOf(shape);
  const weights = new Float32Array(layout.length);
  weights.fill(0.1, layout.wideBias, layout.narrowWeights);
  const deviation = Math.sqrt(2 / shape.wide);
  for (let i = layout.narrowWeights; i < layout.narrowBias; i += 1) weights[i] = gaussian(random) * deviation;
  return { layout, weights };
}

/** The same network for whoever changes it. */
export const copyNetwork = ({ layout, weights }: Network): Network => ({ layout, weights: weights.slice() });

/** Scratch space and the forward pass; one for each user, since the activations are kept for the backward pass. */
export function createForward({ layout, weights }: Network) {
  const { shape, inputs, tupleCells, tupleStarts, tupleRows } = layout;
  const { wideBias, narrowWeights, narrowBias, policyWeights, policyBias, valueWeights, valueBias } = layout;
  const wideSize = shape.wide;
  const narrowSize = shape.narrow;
  const { cells, codes: base, sharedRows: shared } = shape;
  const fillRows = tupleRows[inputs - 1]!;
  const rows = new Int32Array(inputs);
  const wide = new Float64Array(wideSize);
  const narrow = new Float64Array(narrowSize);

  const findRows = (codes: Uint8Array, offset: number): void => {
    for (let t = 0; t < inputs - 1; t += 1) {
      const end = tupleStarts[t + 1]!;
      let index = 0;
      for (let i = tupleStarts[t]!; i < end; i += 1) index = index * base + codes[offset + tupleCells[i]!]!;
      rows[t] = (tupleRows[t]! + (shared === undefined ? index : shared[index]!)) * wideSize;
    }
    let filled = 0;
    for (let i = 0; i < cells; i += 1) if (codes[offset + i]! !== 0) filled += 1;
    rows[inputs - 1] = (fillRows + filled) * wideSize;
  };

  /** Sums eight columns at a time in locals: no intermediate result goes through memory. */
  const sumRows = (): void => {
    for (let j = 0; j < wideSize; j += 8) {
      const bias = wideBias + j;
      let a = weights[bias]!;
      let b = weights[bias + 1]!;
      let c = weights[bias + 2]!;
      let d = weights[bias + 3]!;
      let e = weights[bias + 4]!;
      let f = weights[bias + 5]!;
      let g = weights[bias + 6]!;
      let h = weights[bias + 7]!;
      for (let t = 0; t < inputs; t += 1) {
        const row = rows[t]! + j;
        a += weights[row]!;
        b += weights[row + 1]!;
        c += weights[row + 2]!;
        d += weights[row + 3]!;
        e += weights[row + 4]!;
        f += weights[row + 5]!;
        g += weights[row + 6]!;
        h += weights[row + 7]!;
      }
      wide[j] = a > 0 ? a : 0;
      wide[j + 1] = b > 0 ? b : 0;
      wide[j + 2] = c > 0 ? c : 0;
      wide[j + 3] = d > 0 ? d : 0;
      wide[j + 4] = e > 0 ? e : 0;
      wide[j + 5] = f > 0 ? f : 0;
      wide[j + 6] = g > 0 ? g : 0;
      wide[j + 7] = h > 0 ? h : 0;
    }
  };

  const narrowLayer = (): void => {
    for (let k = 0; k < narrowSize; k += 8) {
      const bias = narrowBias + k;
      let a = weights[bias]!;
      let b = weights[bias + 1]!;
      let c = weights[bias + 2]!;
      let d = weights[bias + 3]!;
      let e = weights[bias + 4]!;
      let f = weights[bias + 5]!;
      let g = weights[bias + 6]!;
      let h = weights[bias + 7]!;
      for (let j = 0; j < wideSize; j += 1) {
        const x = wide[j]!;
        if (x === 0) continue;
        const row = narrowWeights + j * narrowSize + k;
        a += x * weights[row]!;
        b += x * weights[row + 1]!;
        c += x * weights[row + 2]!;
        d += x * weights[row + 3]!;
        e += x * weights[row + 4]!;
        f += x * weights[row + 5]!;
        g += x * weights[row + 6]!;
        h += x * weights[row + 7]!;
      }
      narrow[k] = a > 0 ? a : 0;
      narrow[k + 1] = b > 0 ? b : 0;
      narrow[k + 2] = c > 0 ? c : 0;
      narrow[k + 3] = d > 0 ? d : 0;
      narrow[k + 4] = e > 0 ? e : 0;
      narrow[k + 5] = f > 0 ? f : 0;
      narrow[k + 6] = g > 0 ? g : 0;
      narrow[k + 7] = h > 0 ? h : 0;
    }
  };

  const head = (bias: number, row: number): number => {
    let even = weights[bias]!;
    let odd = 0;
    for (let k = 0; k < narrowSize; k += 2) {
      even += narrow[k]! * weights[row + k]!;
      odd += narrow[k + 1]! * weights[row + k + 1]!;
    }
    return even + odd;
  };

  return {
    /** The first weight of each row that the last position touched. */
    rows,
    wide,
    narrow,
    /** Runs the hidden layers on the codes at an offset. */
    run(codes: Uint8Array, offset: number): void {
      findRows(codes, offset);
      sumRows();
      narrowLayer();
    },
    /** The policy logit of one move in the mover's view. */
    policyLogit: (move: number): number => head(policyBias + move, policyWeights + move * narrowSize),
    /** The value logit of the seat `ahead` places after the mover. */
    valueLogit: (ahead: number): number => head(valueBias + ahead, valueWeights + ahead * narrowSize),
  };
}

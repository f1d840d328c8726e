import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawBlocks, frequenciesOf, winBlocks } from "./block.ts";
import { fitMean, fitTValue } from "./support-mle.ts";

const momentsUnder = (distribution: ArrayLike<number>, scores: readonly number[]) => {
  const mean = scores.reduce((sum, score, i) => sum + distribution[i]! * score, 0);
  const variance = scores.reduce((sum, score, i) => sum + distribution[i]! * (score - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(variance) };
};

const someCounts = (cells: number) =>
  fc
    .array(fc.oneof(fc.constant(0), fc.nat(9), fc.nat(5000)), { minLength: cells, maxLength: cells })
    .filter((counts) => counts.some((count) => count > 0));

const someShape = fc.constantFrom(
  drawBlocks(2),
  winBlocks(2),
  winBlocks(3),
  winBlocks(4),
  drawBlocks(3),
  drawBlocks(4),
);
const someCase = someShape.chain((shape) => fc.tuple(fc.constant(shape), someCounts(shape.scores.length)));

/** How far ln-likelihood's slope is from a combination of the constraints' slopes: zero at a true optimum. */
function optimality(frequencies: readonly number[], p: ArrayLike<number>, slope: readonly number[]): number {
  // Weighted by p, the condition frequency / p = a + b * slope is a regression without residuals.
  const target = frequencies.map((f, i) => f / p[i]!);
  const mean = (v: readonly number[]) => v.reduce((sum, x, i) => sum + p[i]! * x, 0);
  const [mt, ms] = [mean(target), mean(slope)];
  const b = mean(target.map((t, i) => (t - mt) * (slope[i]! - ms))) / mean(slope.map((s) => (s - ms) ** 2));
  return Math.max(...target.map((t, i) => p[i]! * Math.abs(t - mt - b * (slope[i]! - ms))));
}

describe("the likeliest distribution with a given mean", () => {
  it("has that mean, adds up to one and is a true optimum, for any counts", () => {
    fc.assert(
      fc.property(someCase, fc.double({ min: 0.02, max: 0.98, noNaN: true }), ([shape, counts], mean) => {
        const { frequencies } = frequenciesOf(counts);
        const { distribution } = fitMean(frequencies, shape.scores, mean);
        expect(distribution.every((p) => p > 0)).toBe(true);
        expect(distribution.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 7);
        expect(momentsUnder(distribution, shape.scores).mean).toBeCloseTo(mean, 7);
        expect(optimality(frequencies, distribution, shape.scores)).toBeLessThan(1e-6);
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  it("is the observed one when that already has the mean", () => {
    const { distribution, divergence } = fitMean([0.2, 0.2, 0.2, 0.2, 0.2], drawBlocks(2).scores, 0.5);
    for (const p of distribution) expect(p).toBeCloseTo(0.2, 12);
    expect(divergence).toBeCloseTo(0, 12);
  });

  it("does not exist beyond the scores", () => {
    expect(() => fitMean([0.5, 0.5], [0, 1], 1.5)).toThrow("has the mean");
  });
});

describe("the likeliest distribution with a given t-value", () => {
  it("has that t-value, adds up to one and is a true optimum, for any counts", () => {
    fc.assert(
      fc.property(someCase, fc.double({ min: -0.6, max: 0.6, noNaN: true }), ([shape, counts], t) => {
        const { frequencies } = frequenciesOf(counts);
        const { distribution } = fitTValue(frequencies, shape.scores, shape.reference, t);
        const { mean, deviation } = momentsUnder(distribution, shape.scores);
        expect(distribution.every((p) => p > 0)).toBe(true);
        expect(distribution.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 7);
        expect(mean - shape.reference - t * deviation).toBeCloseTo(0, 7);
        const slope = shape.scores.map((s) => s - (t / 2) * (((s - mean) / deviation) ** 2 * deviation));
        expect(optimality(frequencies, distribution, slope)).toBeLessThan(1e-5);
      }),
      { seed: 2, numRuns: 500 },
    );
  });

  it("is the best of all, found by trying every distribution on three cells", () => {
    const scores = [0, 0.5, 1];
    for (const [counts, t] of [
      [[20, 30, 10], 0.2],
      [[0, 50, 1], -0.3],
      [[40, 0, 0], 0.3],
      [[0, 0, 9], 0.1],
      [[3, 1, 1], 1.2],
    ] as const) {
      const { frequencies } = frequenciesOf(counts);
      let best = Number.POSITIVE_INFINITY;
      const steps = 1000;
      for (let i = 1; i < steps; i += 1) {
        const draws = i / steps;
        let before: number | undefined;
        for (let j = 1; j < steps; j += 1) {
          const wins = ((1 - draws) * j) / steps;
          const p = [1 - draws - wins, draws, wins];
          const { mean, deviation } = momentsUnder(p, scores);
          const miss = mean - 0.5 - t * deviation;
          // The constraint is crossed between two neighbours: this point obeys it to within the grid.
          if (before !== undefined && before < 0 !== miss < 0)
            best = Math.min(
              best,
              frequencies.reduce((sum, f, k) => sum + f * Math.log(f / p[k]!), 0),
            );
          before = miss;
        }
      }
      const { divergence } = fitTValue(frequencies, scores, 0.5, t);
      expect(divergence).toBeLessThan(best + 0.01);
      expect(divergence).toBeGreaterThan(best - 0.02 * Math.max(1, best));
    }
  });

  it("mirrors when scores and t-value are mirrored", () => {
    const counts = [0, 3, 9, 1, 40];
    const there = fitTValue(frequenciesOf(counts).frequencies, drawBlocks(2).scores, 0.5, 0.2);
    const back = fitTValue(frequenciesOf(counts.toReversed()).frequencies, drawBlocks(2).scores, 0.5, -0.2);
    expect(back.divergence).toBeCloseTo(there.divergence, 10);
    for (const [i, p] of back.distribution.toReversed().entries()) expect(p).toBeCloseTo(there.distribution[i]!, 7);
  });
});

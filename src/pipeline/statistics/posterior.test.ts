import { describe, expect, it } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { drawBlocks, winBlocks } from "./block.ts";
import { scorePosterior, smoothedCounts } from "./posterior.ts";

/** A Gamma variable by the method of Marsaglia and Tsang, to draw from a Dirichlet distribution. */
const drawGamma = (shape: number, next: () => number): number => {
  if (shape < 1) return drawGamma(shape + 1, next) * next() ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
};

describe("the posterior of the mean score", () => {
  it("agrees with draws from the Dirichlet posterior it stands for", () => {
    const random = seededRandom(8);
    for (const [counts, blocks] of [
      [[2, 5, 9, 3, 1], drawBlocks(2)],
      [[0, 0, 2, 1, 13], drawBlocks(2)],
      [[20, 9, 3, 0], winBlocks(3)],
      [[16, 0, 0, 0, 0], drawBlocks(2)],
    ] as const) {
      const posterior = scorePosterior(counts, blocks);
      const draws: number[] = [];
      const weights = smoothedCounts(counts, blocks);
      for (let n = 0; n < 20_000; n += 1) {
        const cells = weights.map((weight) => drawGamma(weight, random.next));
        const total = cells.reduce((sum, x) => sum + x, 0);
        draws.push(cells.reduce((sum, x, i) => sum + (x * blocks.scores[i]!) / total, 0));
      }
      draws.sort((a, b) => a - b);
      for (const p of [0.05, 0.5, 0.95]) {
        const at = draws[Math.floor(p * draws.length)]!;
        expect(Math.abs(posterior.below(at) - p)).toBeLessThan(0.03);
        expect(posterior.below(posterior.quantile(p))).toBeCloseTo(p, 8);
      }
    }
  });

  it("has a prior that is worth one block and favours nobody", () => {
    for (const blocks of [drawBlocks(2), winBlocks(3), drawBlocks(4)]) {
      const prior = smoothedCounts(
        blocks.scores.map(() => 0),
        blocks,
      );
      expect(prior.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 12);
      expect(prior.reduce((sum, x, i) => sum + x * blocks.scores[i]!, 0)).toBeCloseTo(blocks.reference, 12);
    }
  });
});

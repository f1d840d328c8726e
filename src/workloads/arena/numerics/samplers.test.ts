import { describe, expect, it, vi } from "vitest";
import { seededRandom } from "../../../kernel/index.ts";
import { dirichlet, gaussian, mixSeed } from "./samplers.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

const DRAWS = 20_000;
const moments = (values: readonly number[]) => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length };
};

describe("samplers", () => {
  it("draw normal numbers of mean 0 and variance 1", () => {
    const random = seededRandom(1);
    const { mean, variance } = moments(Array.from({ length: DRAWS }, () => gaussian(random)));
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.05);
  });

  it.each([0.2, 1, 5])("draw Dirichlet shares that sum to 1 and vary as the concentration %d says", (concentration) => {
    const random = seededRandom(2);
    const out = new Float64Array(4);
    const firsts = Array.from({ length: DRAWS }, () => {
      dirichlet(random, concentration, 4, out);
      expect(out.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
      return out[0]!;
    });
    const { mean, variance } = moments(firsts);
    expect(mean).toBeCloseTo(0.25, 1);
    // The variance of one share of four: (1/4)(3/4) / (4 concentration + 1).
    const expected = 3 / 16 / (4 * concentration + 1);
    expect(Math.abs(variance / expected - 1)).toBeLessThan(0.05);
  });

  it("mix seeds without collisions among neighbours", () => {
    const seeds = new Set<number>();
    for (let seed = 0; seed < 100; seed += 1)
      for (let index = 0; index < 100; index += 1) seeds.add(mixSeed(seed, index));
    expect(seeds.size).toBeGreaterThan(9990);
  });
});

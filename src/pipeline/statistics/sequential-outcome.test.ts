import { describe, expect, it } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { outcomeProbability } from "./sequential-outcome.ts";
import { normalCdf } from "./special-functions.ts";

describe("the chance of a higher outcome", () => {
  it("is the plain normal one when there is a single look", () => {
    const higher = outcomeProbability({ lower: -5, upper: 5, looks: 1, stepVariance: 4 }, 3);
    expect(higher(0.5)).toBeCloseTo(normalCdf((0.5 * 4 - 3) / 2), 12);
  });

  it("is the plain normal one when the bounds are out of reach", () => {
    const higher = outcomeProbability({ lower: -1e6, upper: 1e6, looks: 50, stepVariance: 2 }, 15);
    for (const drift of [-0.2, 0, 0.15, 0.4]) expect(higher(drift)).toBeCloseTo(normalCdf((drift * 100 - 15) / 10), 7);
  });

  it("grows with the drift from 0 to 1", () => {
    const higher = outcomeProbability({ lower: -8, upper: 12, looks: 20, stepVariance: 8 }, 13);
    let before = 0;
    for (let drift = -2; drift <= 3; drift += 0.05) {
      const now = higher(drift);
      expect(now).toBeGreaterThanOrEqual(before - 1e-12);
      before = now;
    }
    expect(higher(-2)).toBeLessThan(1e-9);
    expect(higher(3)).toBeCloseTo(1, 9);
  });

  it("agrees with walks that are really walked", () => {
    const random = seededRandom(4);
    const gauss = () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    for (const [lower, upper, looks, stepVariance, final, drift] of [
      [-10, 10, 12, 8, 11, 0.1],
      [-4, 14, 6, 16, 5, -0.05],
      [-10, 10, 9, 8, -10.5, 0],
    ] as const) {
      const runs = 40_000;
      let higher = 0;
      for (let run = 0; run < runs; run += 1) {
        let x = 0;
        for (let look = 1; look <= looks; look += 1) {
          x += drift * stepVariance + Math.sqrt(stepVariance) * gauss();
          if (look === looks ? x >= final : x >= upper) {
            higher += 1;
            break;
          }
          if (x <= lower) break;
        }
      }
      const computed = outcomeProbability({ lower, upper, looks, stepVariance }, final)(drift);
      expect(Math.abs(computed - higher / runs)).toBeLessThan(0.01);
    }
  });

  it("survives a walk that is dozens of deviations from where it would be by chance", () => {
    const higher = outcomeProbability({ lower: -90, upper: 90, looks: 4, stepVariance: 1 }, 100);
    expect(higher(25)).toBeCloseTo(0.5, 6);
    expect(higher(26)).toBeGreaterThan(0.9);
  });
});

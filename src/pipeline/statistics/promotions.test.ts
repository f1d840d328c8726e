import { describe, expect, it } from "vitest";
import { pick, seededRandom } from "../../kernel/index.ts";
import { falsePromotions } from "./promotions.ts";

const rates = { alpha: 0.05, beta: 0.05 };

describe("the expected number of false promotions", () => {
  it("is alpha a gate at most, and less the more gates passed", () => {
    expect(falsePromotions([{ gates: 100, promotions: 5, ...rates }])).toMatchObject({ atMost: 5, expected: 5 });
    expect(falsePromotions([{ gates: 100, promotions: 50, ...rates }]).expected).toBeCloseTo(2.5, 10);
    expect(falsePromotions([{ gates: 100, promotions: 100, ...rates }]).expected).toBe(0);
    expect(falsePromotions([{ gates: 100, promotions: 0, ...rates }]).expected).toBe(5);
  });

  it("adds up over plans, and is nothing before the first gate", () => {
    const [one, two] = [
      { gates: 10, promotions: 4, ...rates },
      { gates: 20, promotions: 4, alpha: 0.01, beta: 0.1 },
    ];
    const sum = falsePromotions([one]).expected + falsePromotions([two]).expected;
    expect(falsePromotions([one, two])).toMatchObject({ gates: 30, promotions: 8, expected: sum });
    expect(falsePromotions([])).toEqual({ gates: 0, promotions: 0, atMost: 0, expected: 0 });
  });

  it("is right on average", () => {
    const random = seededRandom(6);
    let expected = 0;
    let real = 0;
    for (let run = 0; run < 2000; run += 1) {
      let promotions = 0;
      for (let gate = 0; gate < 60; gate += 1) {
        const better = pick(random, 3) === 0;
        const promoted = random.next() < (better ? 0.95 : 0.05);
        if (promoted) promotions += 1;
        if (promoted && !better) real += 1;
      }
      expected += falsePromotions([{ gates: 60, promotions, ...rates }]).expected;
    }
    expect(expected / real).toBeGreaterThan(0.95);
    expect(expected / real).toBeLessThan(1.05);
  });

  it("refuses numbers that cannot be", () => {
    expect(() => falsePromotions([{ gates: 1, promotions: 2, ...rates }])).toThrow("cannot come from");
    expect(() => falsePromotions([{ gates: Number.NaN, promotions: 0, ...rates }])).toThrow("whole number");
    expect(() => falsePromotions([{ gates: 1, promotions: 0, alpha: 0, beta: 0.05 }])).toThrow("alpha");
  });
});

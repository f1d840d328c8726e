import { describe, expect, test } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { discoveryRates, pairedDifference } from "./experiment.ts";

const normal = (random: { next(): number }) =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());

describe("the difference of two arms", () => {
  test("is the mean over seeds with Student's interval", () => {
    // By R: t.test(c(10, 20, 60, 30)).
    const found = pairedDifference([10, 20, 60, 30]);
    expect(found.estimate).toBe(30);
    expect(found.low).toBeCloseTo(-4.376, 2);
    expect(found.high).toBeCloseTo(64.376, 2);
    expect(found.pValue).toBeCloseTo(0.0692, 3);
  });

  test("covers the truth as often as it says, for few seeds", () => {
    const random = seededRandom(5);
    const hits = Array.from({ length: 2_000 }, () => {
      const { low, high } = pairedDifference(Array.from({ length: 4 }, () => 25 + 50 * normal(random)));
      return low <= 25 && high >= 25;
    }).filter(Boolean).length;
    expect(hits / 2_000).toBeGreaterThan(0.93);
    expect(hits / 2_000).toBeLessThan(0.97);
  });

  test("is refused for one seed, and for what is no number", () => {
    expect(() => pairedDifference([3])).toThrow(/1 seeds/);
    expect(() => pairedDifference([3, Number.NaN])).toThrow();
  });

  test("without any luck is certain", () => {
    expect(pairedDifference([0, 0])).toMatchObject({ estimate: 0, pValue: 1 });
    expect(pairedDifference([5, 5])).toMatchObject({ low: 5, high: 5, pValue: 0 });
  });
});

describe("many findings at once", () => {
  test("are held to a rate: as p.adjust(method = 'BH') of R", () => {
    const rates = discoveryRates([0.01, 0.04, 0.03, 0.2]);
    for (const [i, rate] of [0.04, 0.0533, 0.0533, 0.2].entries()) expect(rates[i]).toBeCloseTo(rate, 3);
    expect(discoveryRates([])).toEqual([]);
    expect(discoveryRates([0.5])).toEqual([0.5]);
    expect(() => discoveryRates([1.2])).toThrow();
  });

  test("hold fewer false ones than the rate says, where most are nothing", () => {
    const random = seededRandom(9);
    let believed = 0;
    let wrong = 0;
    for (let round = 0; round < 300; round += 1) {
      const isReal = Array.from({ length: 20 }, (_, i) => i < 4);
      const found = isReal.map((real) =>
        pairedDifference(Array.from({ length: 8 }, () => (real ? 100 : 0) + 50 * normal(random))),
      );
      for (const [i, rate] of discoveryRates(found.map(({ pValue }) => pValue)).entries())
        if (rate <= 0.05) {
          believed += 1;
          if (!isReal[i]) wrong += 1;
        }
    }
    expect(believed).toBeGreaterThan(800);
    expect(wrong / believed).toBeLessThan(0.05);
  });
});

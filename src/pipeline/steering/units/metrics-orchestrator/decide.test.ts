import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Measured } from "../../gates.ts";
import { anomalyIn, trendOf } from "./decide.ts";

const measured = (values: readonly number[]): Measured[] =>
  values.map((value, iteration) => ({ iteration, value, error: 0, at: iteration }));

describe("a trend", () => {
  it("reads a loss by its logarithm: less is better, and one that hardly shrinks stands still", () => {
    const shrinking = measured(Array.from({ length: 12 }, (_, n) => 2 * 0.97 ** n));
    expect(trendOf("loss", shrinking)).toMatchObject({ trend: "improving", plateau_since: null, points: 12 });
    expect(trendOf("loss", shrinking)!.slope!.estimate).toBeCloseTo(-Math.log(0.97), 6);
    const still = measured(Array.from({ length: 12 }, (_, n) => 2 + 0.0005 * (n % 2)));
    expect(trendOf("loss", still)).toMatchObject({ plateau_since: 11, best: { value: 2, iteration: 0 } });
    expect(
      trendOf("loss", [...still, { ...still[0]!, iteration: 12 }], { before: trendOf("loss", still) }),
    ).toMatchObject({ plateau_since: 11 });
  });

  it("has no plateau where there is nothing to reach", () => {
    for (const metric of ["quality", "games_per_second", "retries"] as const)
      expect(trendOf(metric, measured(Array(12).fill(1)))).toMatchObject({ trend: "stable", plateau_since: null });
  });

  it("says what it is now while too few were measured, and nothing of nothing", () => {
    expect(trendOf("quality", measured([0.5, 0.6]))).toMatchObject({ value: 0.6, points: 2, slope: null });
    expect(trendOf("quality", [])).toBeUndefined();
    expect(trendOf("loss", measured([0, -1, Number.NaN]))).toBeUndefined();
  });

  it("survives any storm of numbers", () => {
    const any = fc.record({
      iteration: fc.integer(),
      value: fc.double(),
      error: fc.constantFrom(0, 20),
      at: fc.integer(),
    });
    fc.assert(
      fc.property(fc.constantFrom("elo", "loss", "retries"), fc.array(any, { maxLength: 15 }), (metric, all) => {
        const bounded = all.filter(({ value }) => Math.abs(value) < 1e100);
        const found = trendOf(metric as "elo", bounded);
        if (found !== undefined) expect(Number.isFinite(found.value)).toBe(true);
      }),
    );
  });
});

describe("an odd value", () => {
  it("is far off those before it, by their own scatter", () => {
    expect(anomalyIn([10, 11, 9, 10, 11, 9, 10])).toBeNull();
    expect(anomalyIn([10, 11, 9, 10, 11, 9, 30])).toMatchObject({ expected: 10 });
    expect(anomalyIn([10, 10, 10, 10, 10, 1])!.deviations).toBeLessThan(-6);
    expect(anomalyIn([10, 10, 10, 10, 10, 10.5])).toBeNull();
  });

  it("needs some before it, and is no matter of a measurement that is not sure", () => {
    expect(anomalyIn([10, 10, 10, 10, 99])).toBeNull();
    expect(anomalyIn([])).toBeNull();
    expect(anomalyIn([10, 11, 9, 10, 11, 9, 30], 20)).toBeNull();
  });
});

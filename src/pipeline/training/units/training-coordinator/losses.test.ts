import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lossAnomaly, lossTrend } from "./losses.ts";

describe("what losses say", () => {
  test("a loss far above or below those before it is named, with what was expected", () => {
    const before = [2, 1.9, 1.8, 1.75, 1.7];
    expect(lossAnomaly(1.68, before)).toBeUndefined();
    expect(lossAnomaly(4, before)).toMatchObject({ anomaly: "spike", expected: 1.8, threshold: 1.5 });
    expect(lossAnomaly(0.1, before)).toMatchObject({ anomaly: "drop" });
    expect(lossAnomaly(Number.NaN, [])).toEqual({ anomaly: "not_finite" });
    expect(lossAnomaly(Number.POSITIVE_INFINITY, before)).toEqual({ anomaly: "not_finite" });
  });

  test("few runs prove nothing, and a wild history widens the band", () => {
    expect(lossAnomaly(10, [1, 1, 1])).toBeUndefined();
    expect(lossAnomaly(10, [1, 8, 2, 6, 1.5, 4])).toBeUndefined();
  });

  test("only ratios count: the same history at another scale is judged alike", () => {
    const loss = fc.double({ min: 0.01, max: 100, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(loss, { minLength: 4, maxLength: 12 }),
        loss,
        fc.double({ min: 0.1, max: 10, noNaN: true }),
        (before, value, factor) => {
          const scaled = lossAnomaly(
            value * factor,
            before.map((each) => each * factor),
          );
          expect(scaled?.anomaly).toBe(lossAnomaly(value, before)?.anomaly);
        },
      ),
    );
  });

  test("the direction is that of the last runs", () => {
    expect(lossTrend([2, 1.9, 1.8])).toBeUndefined();
    expect(lossTrend([2, 1.9, 1.8, 1.7])).toEqual({ trend: "improving", first: 2, runs: 4 });
    expect(lossTrend([1, 1.001, 0.999, 1])).toMatchObject({ trend: "stable" });
    expect(lossTrend([9, 5, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7])).toMatchObject({ trend: "declining", first: 1 });
  });
});

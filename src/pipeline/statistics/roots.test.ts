import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findRoot, findRootFrom } from "./roots.ts";

describe("the root finder", () => {
  it("finds the zero of functions that mislead a secant", () => {
    expect(findRoot((x) => x ** 9 - 1e-9, -1, 2)).toBeCloseTo(0.1, 10);
    expect(findRoot((x) => Math.atan(1e6 * (x - 0.3)), -1000, 1)).toBeCloseTo(0.3, 10);
    expect(findRoot((x) => Math.exp(x) - 1e-8, -100, 100)).toBeCloseTo(Math.log(1e-8), 10);
    expect(findRoot((x) => 5 - x, 0, 1000)).toBeCloseTo(5, 10);
  });

  it("returns an end of the bracket that is itself the zero", () => {
    expect(findRoot((x) => x, 0, 1)).toBe(0);
    expect(findRoot((x) => x - 1, 0, 1)).toBe(1);
  });

  it("refuses a bracket without a sign change", () => {
    expect(() => findRoot((x) => x * x + 1, -1, 1)).toThrow("no sign change");
  });

  it("widens the bracket until it holds the zero, however far that is", () => {
    fc.assert(
      fc.property(fc.double({ min: -1e6, max: 1e6, noNaN: true }), (zero) => {
        expect(Math.abs(findRootFrom((x) => x - zero, 0, 1e-3) - zero)).toBeLessThan(1e-5);
      }),
    );
    expect(() => findRootFrom(() => 1, 0, 1)).toThrow("no zero within reach");
  });
});

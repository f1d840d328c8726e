import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exp, log, power } from "./exp-log.ts";

const closeTo = (actual: number, expected: number, relative: number) => {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(relative * Math.max(Math.abs(expected), 1e-300));
};

describe("exp and log of our own", () => {
  it("exp agrees with the engine's to a few units in the last place", () => {
    fc.assert(
      fc.property(fc.double({ min: -700, max: 700, noNaN: true }), (x) => closeTo(exp(x), Math.exp(x), 1e-15)),
      { numRuns: 5000 },
    );
  });

  it("log agrees with the engine's to a few units in the last place", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-300, max: 1e300, noNaN: true }), (x) => {
        closeTo(log(x), Math.log(x), 1e-15);
      }),
      { numRuns: 5000 },
    );
    for (let n = 1; n < 5000; n += 1) closeTo(log(n), Math.log(n), 1e-15);
  });

  it("answers at the ends of the range as arithmetic expects", () => {
    expect(exp(0)).toBe(1);
    expect(exp(-1000)).toBe(0);
    expect(exp(1000)).toBe(Number.POSITIVE_INFINITY);
    expect(exp(Number.NaN)).toBeNaN();
    expect(log(1)).toBe(0);
    expect(log(0)).toBe(Number.NEGATIVE_INFINITY);
    expect(log(-1)).toBeNaN();
    closeTo(log(5e-320), Math.log(5e-320), 1e-15);
    closeTo(exp(709.5), Math.exp(709.5), 1e-15);
  });

  it("power inverts itself", () => {
    expect(power(0, 3)).toBe(0);
    closeTo(power(7, 2), 49, 1e-14);
    closeTo(power(power(12, 1 / 3), 3), 12, 1e-14);
  });
});

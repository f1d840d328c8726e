import { describe, expect, it } from "vitest";
import {
  betaCdf,
  betaQuantile,
  chiSquareUpper,
  gammaUpper,
  logGamma,
  normalCdf,
  normalQuantile,
  normalUpper,
  studentQuantile,
  studentTwoSided,
} from "./special-functions.ts";

/** Published values, to the digits that tables of the National Institute of Standards and textbooks give. */
const relative = (actual: number, expected: number) => Math.abs(actual / expected - 1);

describe("the gamma function", () => {
  it("agrees with factorials and with the square root of pi", () => {
    expect(logGamma(0.5)).toBeCloseTo(Math.log(Math.sqrt(Math.PI)), 13);
    expect(logGamma(1)).toBeCloseTo(0, 13);
    expect(logGamma(6)).toBeCloseTo(Math.log(120), 13);
    expect(relative(logGamma(100), 359.1342053695754)).toBeLessThan(1e-14);
    expect(relative(logGamma(1e-3), 6.907178885383853)).toBeLessThan(1e-13);
  });

  it("has the exponential distribution as its incomplete form of order one", () => {
    for (const x of [0.01, 0.5, 1.9, 2.1, 10, 300])
      expect(relative(gammaUpper(1, x), Math.exp(-x))).toBeLessThan(1e-12);
    expect(gammaUpper(3, 0)).toBe(1);
  });

  it("gives the tabled critical values of chi-square", () => {
    expect(chiSquareUpper(3.841458820694124, 1)).toBeCloseTo(0.05, 13);
    expect(chiSquareUpper(18.307038053275146, 10)).toBeCloseTo(0.05, 13);
    expect(chiSquareUpper(13.276704135987622, 4)).toBeCloseTo(0.01, 13);
  });
});

describe("the normal distribution", () => {
  it("gives the tabled values in the middle and far out in the tail", () => {
    expect(normalCdf(0)).toBe(0.5);
    expect(normalCdf(1)).toBeCloseTo(0.8413447460685429, 14);
    expect(relative(normalUpper(10), 7.619853024160527e-24)).toBeLessThan(1e-12);
    expect(normalUpper(-40)).toBe(1);
  });

  it("inverts itself over the whole range", () => {
    expect(normalQuantile(0.975)).toBeCloseTo(1.959963984540054, 13);
    for (const p of [1e-12, 1e-4, 0.02, 0.4999, 0.5, 0.7, 0.999, 1 - 1e-9]) {
      expect(relative(normalCdf(normalQuantile(p)), p)).toBeLessThan(1e-11);
      expect(normalQuantile(p) + normalQuantile(1 - p)).toBeCloseTo(0, 4);
    }
  });
});

describe("the beta and Student distributions", () => {
  it("agree with polynomials where the parameters are whole numbers", () => {
    expect(betaCdf(0.5, 2, 3)).toBeCloseTo(0.6875, 14);
    expect(betaCdf(0.3, 1, 1)).toBeCloseTo(0.3, 14);
    expect(betaCdf(0.2, 5, 1)).toBeCloseTo(0.2 ** 5, 14);
    expect(betaCdf(-1, 2, 2)).toBe(0);
    expect(betaCdf(2, 2, 2)).toBe(1);
  });

  it("invert themselves, for flat and for very sharp parameters", () => {
    for (const [a, b] of [
      [0.5, 0.5],
      [2, 30],
      [400, 500],
      [1e5, 2e5],
    ] as const)
      for (const p of [0.001, 0.025, 0.5, 0.975]) expect(betaCdf(betaQuantile(p, a, b), a, b)).toBeCloseTo(p, 8);
  });

  it("give the tabled quantiles of Student", () => {
    expect(studentQuantile(0.975, 1)).toBeCloseTo(12.706204736432095, 9);
    expect(studentQuantile(0.975, 10)).toBeCloseTo(2.228138851986274, 11);
    expect(studentQuantile(0.025, 10)).toBeCloseTo(-2.228138851986274, 11);
    expect(studentQuantile(0.5, 3)).toBe(0);
    expect(studentTwoSided(2.228138851986274, 10)).toBeCloseTo(0.05, 13);
  });
});

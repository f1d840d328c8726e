import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { eloVelocity } from "./velocity.ts";

describe("Elo velocity", () => {
  it("is the slope of points on a line, with the error that theirs imply", () => {
    const points = [0, 1, 2, 3].map((at) => ({ at, elo: 100 + 25 * at, standardError: 10 }));
    const { slope, standardError, misfit, centre } = eloVelocity(points);
    expect(slope.estimate).toBeCloseTo(25, 10);
    expect(standardError).toBeCloseTo(10 / Math.sqrt(5), 10);
    expect(misfit).toBeCloseTo(0, 10);
    expect(centre).toEqual({ at: 1.5, elo: 137.5 });
  });

  it("listens to certain points more than to uncertain ones", () => {
    const points = [
      { at: 0, elo: 0, standardError: 5 },
      { at: 1, elo: 20, standardError: 5 },
      { at: 2, elo: 400, standardError: 500 },
    ];
    expect(eloVelocity(points).slope.estimate).toBeLessThan(25);
  });

  it("does not care where the Elo scale has its zero, and scales with its unit", () => {
    const point = fc.record({
      at: fc.integer({ min: -50, max: 50 }),
      elo: fc.integer({ min: -999, max: 999 }),
      standardError: fc.integer({ min: 1, max: 99 }),
    });
    fc.assert(
      fc.property(fc.array(point, { minLength: 3, maxLength: 12 }), (points) => {
        fc.pre(new Set(points.map(({ at }) => at)).size > 1);
        const once = eloVelocity(points).slope;
        const moved = eloVelocity(points.map((p) => ({ ...p, elo: p.elo + 500, at: p.at * 2 }))).slope;
        for (const side of ["estimate", "low", "high"] as const) expect(2 * moved[side]).toBeCloseTo(once[side], 5);
      }),
    );
  });

  it("refuses points without a place to go, without error, or broken", () => {
    const good = { at: 0, elo: 0, standardError: 1 };
    expect(() => eloVelocity([good, good])).toThrow("two different places");
    expect(() => eloVelocity([])).toThrow("two different places");
    expect(() => eloVelocity([good, { at: 1, elo: 1, standardError: 0 }])).toThrow("above 0");
    expect(() => eloVelocity([good, { at: Number.NaN, elo: 1, standardError: 1 }])).toThrow("finite");
  });

  it.each([
    ["what the errors say", 0],
    ["much more than the errors say", 60],
  ])("covers the true slope when the points scatter by %s", (_name, extra) => {
    const random = seededRandom(3);
    const gauss = () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    const runs = 3000;
    let covered = 0;
    let under = 0;
    for (let run = 0; run < runs; run += 1) {
      const points = [0, 1, 2, 3, 4, 5].map((at) => ({
        at,
        elo: 12 * at + Math.hypot(15, extra) * gauss(),
        standardError: 15,
      }));
      const { slope, upperBound } = eloVelocity(points);
      if (slope.low <= 12 && 12 <= slope.high) covered += 1;
      if (12 <= upperBound) under += 1;
    }
    // Where the errors are right the widening for bad luck makes the interval a little too safe.
    expect(covered / runs).toBeGreaterThan(0.935);
    expect(covered / runs).toBeLessThan(extra === 0 ? 0.99 : 0.965);
    expect(under / runs).toBeGreaterThan(0.935);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apart, paddedRange, roundRange, scale, ticks } from "./scale.ts";

describe("an axis", () => {
  it("puts values where they belong", () => {
    const place = scale(-100, 100, 0, 400);
    expect([-100, 0, 50, 100].map(place)).toEqual([0, 200, 300, 400]);
    expect(scale(3, 3, 0, 400)(3)).toBe(200);
  });

  it.each([
    [0, 40, 8, true, [0, 5, 10, 15, 20, 25, 30, 35, 40]],
    [0, 2, 10, true, [0, 1, 2]],
    [-412, 566, 6, false, [-400, -200, 0, 200, 400]],
    [0, 0.31, 4, false, [0, 0.1, 0.2, 0.3]],
    [1, 9, 4, true, [2, 4, 6, 8]],
  ] as const)("from %d to %d has round numbers", (from, to, most, whole, expected) => {
    expect(ticks(from, to, most, whole)).toEqual(expected);
  });

  it("has few numbers, all within it, at even distances, whatever the range", () => {
    const number = fc.double({ min: -1e9, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(
        number,
        fc.double({ min: 1e-6, max: 1e9, noNaN: true }),
        fc.integer({ min: 2, max: 12 }),
        (from, span, most) => {
          const to = from + span;
          fc.pre(to > from);
          const found = ticks(from, to, most);
          expect(found.length).toBeLessThanOrEqual(most + 1);
          for (const value of found) {
            expect(value).toBeGreaterThanOrEqual(from - span * 1e-6 - Math.abs(from) * 1e-9);
            expect(value).toBeLessThanOrEqual(to + span * 1e-6 + Math.abs(to) * 1e-9);
          }
        },
      ),
    );
  });

  it("reaches beyond its values", () => {
    expect(roundRange([0, 6_400], 5)).toEqual([-2_000, 8_000]);
    expect(roundRange([], 5)).toEqual([0, 1]);
    expect(paddedRange([0, 100], 0.1, 0)).toEqual([-10, 110]);
    expect(paddedRange([5, 5], 0.1, 40)).toEqual([-15, 25]);
  });
});

describe("labels beside each other", () => {
  it("stay where they are while there is room", () => {
    expect(apart([10, 50, 90], 15, 0, 100)).toEqual([10, 50, 90]);
    expect(apart([50, 50], 10, 0, 100)).toEqual([50, 60]);
    expect(apart([95, 96], 10, 0, 100)).toEqual([90, 100]);
  });

  it("never overlap, keep their order, and stay inside where they fit", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -50, max: 350 }), { maxLength: 18 }), (places) => {
        const moved = apart(places, 15, 0, 300);
        const order = places.map((_, i) => i).sort((a, b) => places[a]! - places[b]! || a - b);
        for (const [k, i] of order.entries()) {
          expect(moved[i]!).toBeGreaterThanOrEqual(0);
          expect(moved[i]!).toBeLessThanOrEqual(300);
          if (k > 0) expect(moved[i]! - moved[order[k - 1]!]!).toBeGreaterThanOrEqual(15 - 1e-9);
        }
      }),
    );
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { COMBINED_SHARDS, MAX_SHARDS } from "../../limits.ts";
import { toCombine, windowOf, windowRows } from "./decide.ts";

const policy = fc
  .record({
    base: fc.integer({ min: 1, max: 5_000 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    more: fc.integer({ min: 0, max: 20_000 }),
  })
  .map(({ base, share, more }) => ({ base, share, most: base + more }));
const shards = fc.array(fc.record({ rows: fc.integer({ min: 1, max: 2_000 }) }), { maxLength: 60 });
const rowsOf = (all: readonly { rows: number }[]) => all.reduce((sum, { rows }) => sum + rows, 0);

describe("the window", () => {
  test("is the newest shards that hold the wanted rows, and not one more", () => {
    fc.assert(
      fc.property(shards, policy, (all, rule) => {
        const total = rowsOf(all);
        const window = windowOf(all, total, rule);
        const wanted = windowRows(total, rule);
        expect(window).toEqual(all.slice(all.length - window.length));
        if (window.length < all.length) expect(rowsOf(window)).toBeGreaterThanOrEqual(wanted);
        if (window.length > 0) expect(rowsOf(window.slice(1))).toBeLessThan(wanted);
      }),
    );
  });

  test("grows with the rows ever made, from its base to its most, and never beyond", () => {
    fc.assert(
      fc.property(fc.nat(1e7), fc.nat(1e6), policy, (total, more, rule) => {
        expect(windowRows(total, rule)).toBeGreaterThanOrEqual(Math.min(rule.base, rule.most));
        expect(windowRows(total, rule)).toBeLessThanOrEqual(rule.most);
        expect(windowRows(total + more, rule)).toBeGreaterThanOrEqual(windowRows(total, rule));
      }),
    );
  });

  test("always holds the newest shard", () => {
    fc.assert(
      fc.property(shards, policy, (all, rule) => {
        expect(windowOf(all, rowsOf(all), rule).at(-1)).toEqual(all.at(-1));
      }),
    );
  });

  test.each([
    [MAX_SHARDS, 0],
    [MAX_SHARDS + 1, COMBINED_SHARDS],
  ])("of %i shards has its %i oldest combined", (count, combined) => {
    const window = Array.from({ length: count }, (_, n) => n);
    expect(toCombine(window)).toEqual(window.slice(0, combined));
  });
});

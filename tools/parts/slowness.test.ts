import { expect, test } from "vitest";
import { slowness } from "../../test/support/patience.ts";
import { measureSpeed, slownessOf } from "./slowness.ts";

test("a machine of the usual speed, and a faster one, has the limits as they are written", () => {
  expect(slownessOf({ workMs: 1, cores: 64, load: 0 })).toBe(1);
  expect(slownessOf({ workMs: 1, cores: 2, load: 0 })).toBe(1);
});

test("slower work, fewer cores and others on the machine make limits longer, and never without end", () => {
  const quiet = { workMs: 1, cores: 2, load: 0 };
  const factors = [
    slownessOf({ ...quiet, workMs: 1_000 }),
    slownessOf({ ...quiet, cores: 1 }),
    slownessOf({ ...quiet, load: 6 }),
  ];
  for (const factor of factors) expect(factor).toBeGreaterThan(1.5);
  expect(slownessOf({ workMs: 1e9, cores: 1, load: 1e9 })).toBeLessThan(100);
});

test("what was measured here is a factor, and one that nobody set is 1", () => {
  expect(slownessOf(measureSpeed())).toBeGreaterThanOrEqual(1);
  expect(slowness({})).toBe(1);
  expect(slowness({ TEST_SLOWNESS: "4.5" })).toBe(4.5);
  expect(slowness({ TEST_SLOWNESS: "nonsense" })).toBe(1);
});

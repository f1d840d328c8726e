import { describe, expect, test } from "vitest";
import { lateBy, strengthOf } from "./progress-watchdog.unit.ts";

const HOUR_MS = 3_600_000;

describe("a stage", () => {
  const stage = { state: "running", deadline: 1_000, not_before: null } as Parameters<typeof lateBy>[0];

  test("is late from its deadline on", () => {
    expect(lateBy(stage, 1_000)).toBeNull();
    expect(lateBy(stage, 1_500)).toBe(500);
  });

  test("is not late while a person holds it, after its end, or before it may be tried again", () => {
    expect(lateBy({ ...stage, state: "paused" }, 9_000)).toBeNull();
    expect(lateBy({ ...stage, state: "complete" }, 9_000)).toBeNull();
    expect(lateBy({ ...stage, state: "waiting", not_before: 8_000 }, 5_000)).toBeNull();
    expect(lateBy({ ...stage, state: "waiting", not_before: 8_000 }, 9_000)).toBe(1_000);
  });
});

describe("the gain in strength", () => {
  const points = (gain: number, error: number) =>
    Array.from({ length: 13 }, (_, i) => ({ at: i * HOUR_MS, elo: 100 + i * gain, error }));
  const now = 12 * HOUR_MS;

  test("is not judged before there is enough of it", () => {
    expect(strengthOf({ points: [] }, now, 6 * HOUR_MS)).toBeUndefined();
    expect(strengthOf({ points: points(1, 5).slice(0, 3) }, now, 6 * HOUR_MS)).toBeUndefined();
    expect(strengthOf({ points: points(1, 5) }, 3 * HOUR_MS, 6 * HOUR_MS)).toBeUndefined();
  });

  test("is Elo a day, with how much it could be", () => {
    const rising = strengthOf({ points: points(2, 5) }, now, 6 * HOUR_MS)!;
    expect(rising.slope.estimate).toBeCloseTo(48, 6);
    expect(rising.upperBound).toBeGreaterThan(48);
    const flat = strengthOf({ points: points(0, 1) }, now, 6 * HOUR_MS)!;
    expect(flat.slope.estimate).toBeCloseTo(0, 6);
    expect(flat.upperBound).toBeLessThan(12);
  });
});

import { expect, test } from "vitest";
import { useOf } from "./event-use.ts";

test("who says an event, how often and when last, by the newest of them", () => {
  const now = 1_000_000;
  const seen = [
    { source: "trainer", timestamp: now - 10 },
    { source: "trainer", timestamp: now - 7_200 },
    { source: "cli", timestamp: now - 20 },
    { source: "cli", timestamp: now - 100_000 },
  ];
  expect(useOf(seen, now)).toEqual({
    last_seen_at: now - 10,
    last_hour: 2,
    per_hour: 0.13,
    sources: [
      { source: "trainer", events: 2, last_seen_at: now - 10 },
      { source: "cli", events: 2, last_seen_at: now - 20 },
    ],
  });
});

test("an event that comes too often to look at all of them has the pace of those that were looked at", () => {
  const seen = Array.from({ length: 5_000 }, (_, i) => ({ source: "s", timestamp: 10_000 - i }));
  expect(useOf(seen, 10_000).per_hour).toBeCloseTo(3_600, -1);
});

test("one that never came says so", () => {
  expect(useOf([], 10)).toEqual({ last_seen_at: null, last_hour: 0, per_hour: 0, sources: [] });
});

import { expect, test } from "vitest";
import { ACT_KINDS, chaosRandom, chaosSchedule, type Due } from "./schedule.ts";

const first = (seed: number, most: number): Due[] => {
  const schedule = chaosSchedule(chaosRandom(seed));
  return Array.from({ length: most }, () => schedule.next().value);
};

test("the first act comes after a quarter of a minute, and the others about as far apart", () => {
  const acts = first(1, 200);
  expect(acts[0]!.atMs).toBe(15_000);
  const pauses = acts.slice(1).map(({ atMs }, i) => atMs - acts[i]!.atMs);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(11_999);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(18_001);
});

test("each kind has its turn twice, then chance decides among all", () => {
  const kinds = first(1, 200).map(({ kind }) => kind);
  expect(kinds.slice(0, 6)).toEqual([...ACT_KINDS, ...ACT_KINDS]);
  expect(new Set(kinds.slice(6))).toEqual(new Set(ACT_KINDS));
});

test("it follows from the seed", () => {
  expect(first(5, 50)).toEqual(first(5, 50));
  expect(first(5, 50)).not.toEqual(first(6, 50));
});

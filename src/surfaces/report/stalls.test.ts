import { expect, test } from "vitest";
import { stallsOf } from "./stalls.ts";

const minute = 60_000;
const at = (minutes: number, games: number) => ({ at: minutes * minute, games });
/** A round every minute. */
const rounds = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => at(from + i, (from + i) * 100));

test("a stretch without a game that is much longer than a round is a stall, also the last one", () => {
  const samples = [...rounds(0, 5), at(7, 500), at(12, 500), at(12.1, 600), at(13.1, 700)];
  expect(stallsOf(samples, 0, 20 * minute)).toEqual([
    { from: 5 * minute, to: 12.1 * minute },
    { from: 13.1 * minute, to: 20 * minute },
  ]);
});

test("rounds that come as usual are none, however long they are", () => {
  expect(stallsOf(rounds(0, 10), 0, 10.5 * minute)).toEqual([]);
});

test("in a short run a stall is a quarter of it, and never less than seconds", () => {
  expect(stallsOf([at(0, 0), at(1, 10)], 0, 4 * minute)).toEqual([
    { from: 0, to: minute },
    { from: minute, to: 4 * minute },
  ]);
  expect(stallsOf([at(0, 0), at(0.2, 5)], 0, 0.5 * minute)).toEqual([]);
  expect(stallsOf([], 0, minute)).toEqual([]);
});

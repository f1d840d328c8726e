import { expect, test } from "vitest";
import { stallsOf } from "./stalls.ts";

const minute = 60_000;
const at = (minutes: number, games: number) => ({ at: minutes * minute, games });

test("a stretch without a game is a stall, also the last one", () => {
  const samples = [at(0, 0), at(1, 10), at(2, 20), at(2.5, 20), at(5, 20), at(5.1, 30)];
  expect(stallsOf(samples, 0, 9 * minute)).toEqual([
    { from: at(0, 0).at, to: at(1, 0).at },
    { from: at(1, 0).at, to: at(2, 0).at },
    { from: at(2, 0).at, to: at(5.1, 0).at },
    { from: at(5.1, 0).at, to: at(9, 0).at },
  ]);
});

test("a pause that is short beside the run, or short at all, is none", () => {
  const steady = Array.from({ length: 100 }, (_, i) => at(i / 10, i));
  expect(stallsOf(steady, 0, 10 * minute)).toEqual([]);
  expect(stallsOf([at(0, 0), at(0.3, 5)], 0, 0.5 * minute)).toEqual([]);
  expect(stallsOf([], 0, minute)).toEqual([]);
});

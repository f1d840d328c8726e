import { describe, expect, test } from "vitest";
import type { Figures } from "../../figures.ts";
import { bandOf, meanPlies, mixOf, scoreQuality, scoresOf } from "./score.ts";

const good: Figures = {
  games: 100,
  rows: 3_000,
  parity_checked: 2,
  parity_failed: 0,
  label_errors: 0,
  illegal_games: 0,
  outcomes: [50, 45, 5],
  plies: { count: 100, sum: 3_000, squares: 91_000 },
  positions: { total: 3_000, repeated: 300 },
  entropy_sum: 3_000,
  surprises: { count: 100, sum: 1, squares: 25 },
};
const around = { usualPlies: 30, rejectedShare: 0 };
const scoreOf = (more: Partial<Figures>, given: Partial<typeof around> = {}) =>
  scoreQuality({ ...good, ...more }, { ...around, ...given })!;

describe("the score of data", () => {
  test.each<[string, Partial<Figures>, Partial<typeof around>, number]>([
    ["good in everything", {}, {}, 1],
    ["a fifth of its positions repeated", { positions: { total: 1_000, repeated: 200 } }, {}, 1],
    ["0.45 of its positions repeated", { positions: { total: 1_000, repeated: 450 } }, {}, 1 - 0.35 / 2],
    ["all of its positions repeated", { positions: { total: 1_000, repeated: 1_000 } }, {}, 0.65],
    ["games a quarter longer than usual", { plies: { count: 100, sum: 3_750, squares: 0 } }, {}, 1],
    ["games of 2.5 times the usual length", { plies: { count: 100, sum: 7_500, squares: 0 } }, {}, 0.8],
    ["games that end at once", { plies: { count: 100, sum: 0, squares: 0 } }, {}, 0.8],
    ["targets that name one move", { entropy_sum: 0 }, {}, 0.8],
    ["targets of 0.1 nats", { entropy_sum: 300 }, {}, 0.9],
    ["results half a point off what was predicted", { surprises: { count: 1_000, sum: 600, squares: 360 } }, {}, 0.75],
    ["results off by what chance explains", { surprises: { count: 100, sum: 9, squares: 25 } }, {}, 1],
    ["a tenth of its games rejected", {}, { rejectedShare: 0.1 }, 0.8],
    ["half of its games rejected", {}, { rejectedShare: 0.5 }, 0],
    [
      "nothing but repeated positions known",
      { plies: null, entropy_sum: null, surprises: null, positions: { total: 100, repeated: 45 } },
      {},
      0.5,
    ],
  ])("is known for data with %s", (_name, more, given, score) => {
    expect(scoreOf(more, given).score).toBeCloseTo(score, 6);
  });

  test("is unknown where nothing was measured", () => {
    expect(
      scoreQuality({ ...good, plies: null, entropy_sum: null, surprises: null, positions: null }, around),
    ).toBeUndefined();
  });

  test("has no usual length to compare with at first", () => {
    expect(
      scoreQuality({ ...good, plies: { count: 1, sum: 5, squares: 25 } }, { usualPlies: null, rejectedShare: 0 })!
        .components.length,
    ).toBe(1);
  });

  test.each([
    [1, "excellent"],
    [0.9, "excellent"],
    [0.899, "good"],
    [0.7, "good"],
    [0.699, "degraded"],
    [0.5, "degraded"],
    [0.499, "poor"],
    [0, "poor"],
  ] as const)("%s is %s", (score, band) => expect(bandOf(score)).toBe(band));

  test("of each segment is told with its files, the best first; what was not looked at has none", () => {
    const poor: Figures = { ...good, positions: { total: 1, repeated: 1 }, entropy_sum: 0 };
    const told = scoresOf(
      [
        { files: ["p1", "p2"], figures: poor },
        { files: ["u"], figures: null },
        { files: ["g"], figures: good },
      ],
      30,
    );
    expect(told.map(({ artifact_hash }) => artifact_hash)).toEqual(["g", "p1", "p2"]);
    expect(told[0]!.quality_score).toBeGreaterThan(told[1]!.quality_score);
    expect(told[1]!.quality_score).toBe(told[2]!.quality_score);
  });

  test("says how much of the data lies in good and in poor segments", () => {
    const poor: Figures = { ...good, games: 300, positions: { total: 1, repeated: 1 }, entropy_sum: 0 };
    expect(mixOf([good, poor], 30)).toEqual({ good: 0.25, poor: 0.75 });
    expect(meanPlies([good, good])).toBe(30);
    expect(meanPlies([])).toBeNull();
  });
});

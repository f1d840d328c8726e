import { describe, expect, test } from "vitest";
import type { RatedChampion } from "../../../models/index.ts";
import { isOtherVelocity, judgeGoal, judgeOldChampion, velocityOf } from "./decide.ts";

const DAY = 86_400_000;
const rated = (day: number, elo: number, half = 20): RatedChampion => ({
  model_id: `m${day}`,
  at: day * DAY,
  elo,
  low: elo - half,
  high: elo + half,
});
const plan = { target_elo: 1_500, games_per_iteration: 160 };

describe("a goal", () => {
  test("is met when the whole interval lies at or above it, and then nothing more is asked for", () => {
    expect(judgeGoal(plan, [rated(1, 1_510)])).toMatchObject({
      met: null,
      target_games: 160,
      gap: { estimate: -10, low: -30, high: 10 },
    });
    expect(judgeGoal(plan, [rated(1, 1_520)])).toMatchObject({
      met: { model_id: "m1", elo_low: 1_500 },
      target_games: 0,
    });
  });

  test("is that of the champion of now: an earlier one that was stronger does not count", () => {
    expect(judgeGoal(plan, [rated(1, 1_900), rated(2, 1_200)])).toMatchObject({ met: null, gap: { estimate: 300 } });
  });

  test("that is not set, or not rated yet, asks for games and knows no gap", () => {
    expect(judgeGoal({ ...plan, target_elo: null }, [rated(1, 9_999)])).toMatchObject({
      target_games: 160,
      gap: null,
      met: null,
    });
    expect(judgeGoal(plan, [])).toMatchObject({ target_games: 160, gap: null, velocity: null });
  });
});

describe("the speed of a config", () => {
  test("is the slope over its last champions, with a direction only where it is sure", () => {
    expect(velocityOf([rated(0, 1_000), rated(1, 1_100), rated(2, 1_200)])).toMatchObject({ trend: "improving" });
    expect(velocityOf([rated(0, 1_000), rated(1, 1_100), rated(2, 1_200)])!.elo_per_day).toBeCloseTo(100);
    expect(velocityOf([rated(0, 1_200), rated(1, 1_100), rated(2, 1_000)])!.trend).toBe("declining");
    expect(velocityOf([rated(0, 1_000, 200), rated(1, 1_010, 200)])!.trend).toBe("stable");
  });

  test("is unknown with fewer than two champions of different days, or without intervals", () => {
    expect(velocityOf([rated(0, 1_000)])).toBeNull();
    expect(velocityOf([rated(0, 1_000), rated(0, 1_100)])).toBeNull();
    expect(velocityOf([rated(0, 1_000, 0), rated(1, 1_100, 0)])).toBeNull();
  });

  test.each([
    [null, 0, false],
    [100, 105, false],
    [100, 130, true],
    [10, 16, false],
    [5, -20, true],
  ] as const)("%s that becomes %s is worth telling: %s", (before, after, told) => {
    const of = (elo_per_day: number | null) =>
      elo_per_day === null
        ? null
        : { elo_per_day, trend: elo_per_day > 0 ? ("improving" as const) : ("declining" as const) };
    expect(isOtherVelocity(of(before), before === null ? null : of(after))).toBe(told);
  });
});

test.each([
  ["the champion itself", "a", { model: "a", since: 0 }, true, "keep"],
  ["nobody is champion", "a", undefined, true, "keep"],
  ["another one, a moment ago", "a", { model: "b", since: 60 }, true, "keep"],
  ["another one, for too long", "a", { model: "b", since: 0 }, true, "replace"],
  ["another one that nobody can play with yet", "a", { model: "b", since: 0 }, false, "relaxed"],
] as const)("jobs of a model while %s: %o", (_, plays, champion, isOut, verdict) => {
  expect(judgeOldChampion(plays, champion, { now: 100, maxMs: 50, isOut })).toBe(verdict);
});

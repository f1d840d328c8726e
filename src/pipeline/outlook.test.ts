import { describe, expect, test } from "vitest";
import { outlookOf } from "./outlook.ts";
import { STAGES } from "./stage/index.ts";

const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;
const FOREVER = { most_iterations: null, target_elo: null };

/** Rounds of an hour, the newest first; the last one ended `agoMs` ago. */
const rounds = (n: number, agoMs = 0, games = 100) =>
  Array.from({ length: n }, (_, i) => n - i).flatMap((iteration) =>
    STAGES.toReversed().map((stage) => {
      const end = NOW - agoMs - (n - iteration) * HOUR;
      const evidence = stage === "selfplay" ? { games } : {};
      return { iteration, stage, state: "done" as const, since: end - HOUR, ended_at: end, evidence };
    }),
  );
const standing = (more: object = {}) => ({ plan: FOREVER, isComplete: false, iteration: 4, ...more });

describe("the outlook of a config", () => {
  test("counts the games of the last day, and says how old the newest are", () => {
    const told = outlookOf(rounds(30, 2 * HOUR), true, NOW, standing());
    expect(told).toMatchObject({ games_per_day: 2_200, newest_games_at: NOW - 2 * HOUR, round_seconds: 3_600 });
    expect(outlookOf([], true, NOW, standing())).toEqual({
      games_per_day: 0,
      newest_games_at: null,
      round_seconds: null,
      target: null,
    });
  });

  test("takes the pace of what it looked at where that is less than a day", () => {
    // Three hours of 100 games each, and there was more before.
    expect(outlookOf(rounds(3), false, NOW, standing()).games_per_day).toBe(2_400);
    expect(outlookOf(rounds(3), true, NOW, standing()).games_per_day).toBe(300);
  });

  test("tells the time to the rounds of the plan, the one under way among them", () => {
    const plan = { most_iterations: 10, target_elo: null };
    const { target } = outlookOf(rounds(3), true, NOW, standing({ plan }));
    expect(target).toEqual({ what: "iterations", value: 10, in_seconds: 7 * 3_600, reached: false });
  });

  test("tells the time to an Elo by what a round gains, and nothing while it gains nothing", () => {
    const plan = { most_iterations: null, target_elo: 500 };
    const at = (eloPerRound?: number) =>
      outlookOf(rounds(3), true, NOW, standing({ plan, elo: 400, eloPerRound })).target?.in_seconds;
    expect(at(20)).toBe(5 * 3_600);
    expect([at(-3), at(0), at()]).toEqual([null, null, null]);
  });

  test("takes the goal that comes first", () => {
    const plan = { most_iterations: 6, target_elo: 500 };
    const at = (eloPerRound: number) =>
      outlookOf(rounds(3), true, NOW, standing({ plan, elo: 400, eloPerRound })).target?.what;
    expect([at(100), at(1)]).toEqual(["elo", "iterations"]);
  });

  test("is there when it is complete", () => {
    const plan = { most_iterations: 4, target_elo: null };
    const { target } = outlookOf(rounds(4), true, NOW, standing({ plan, isComplete: true }));
    expect(target).toMatchObject({ reached: true, in_seconds: 0 });
  });
});

import { describe, expect, test } from "vitest";
import { watchRules } from "../../limits.ts";
import { type Beat, follow, type Judgement, judgeBeat, type Level, missedMs, settledAt } from "./decide.ts";

const beat = (more: Partial<Beat> = {}): Beat => ({
  at: 0,
  health: "running",
  message: "",
  busyMs: 0,
  overdueMs: 0,
  isPaused: false,
  uptimeSeconds: 1,
  ...more,
});

describe("a unit is judged", () => {
  test.each([
    ["healthy while it beats", beat(), 30_000, "healthy", ""],
    ["degraded when its heartbeat is late", beat(), 90_001, "degraded", "late: no heartbeat for 90 s"],
    ["unhealthy when it is silent", beat(), 300_001, "unhealthy", "silent: no heartbeat for 300 s"],
    [
      "unhealthy when it is stuck",
      beat({ busyMs: 301_000 }),
      0,
      "unhealthy",
      "stuck: one piece of work has been running for 301 s",
    ],
    [
      "degraded when its loop is late",
      beat({ overdueMs: 121_000 }),
      0,
      "degraded",
      "late: its loop is 121 s past its time",
    ],
    ["by its own word", beat({ health: "degraded", message: "2 of 9 failed" }), 0, "degraded", "2 of 9 failed"],
    ["by its own word without one", beat({ health: "stopped" }), 0, "unhealthy", "it says 'stopped'"],
    ["healthy when the clock was set back", beat({ at: 5_000_000 }), 0, "healthy", ""],
  ] as const)("%s", (_name, given, now, level, reason) => {
    expect(judgeBeat(given, now, watchRules)).toMatchObject({ level, reason });
  });
});

/** Follows levels seen at times in seconds; gives what was told, and when. */
const story = (...seen: readonly (readonly [at: number, level: Level, isCertain?: boolean])[]) => {
  let standing = settledAt("healthy");
  const told: string[] = [];
  for (const [at, level, isCertain = false] of seen) {
    const judgement: Judgement = { level, reason: "", isCertain };
    const { next, edge } = follow(standing, judgement, at * 1_000, watchRules);
    standing = next;
    if (edge !== null) told.push(`${at} ${edge}`);
  }
  return told;
};

describe("what is told", () => {
  test("is nothing while all is well", () => expect(story([0, "healthy"], [60, "healthy"])).toEqual([]));

  test("is not one bad word", () => expect(story([0, "degraded"], [5, "healthy"], [40, "degraded"])).toEqual([]));

  test("is what lasts, once", () =>
    expect(story([0, "degraded"], [30, "degraded"], [60, "degraded"], [600, "degraded"])).toEqual(["30 degraded"]));

  test("is at once what its own time limit has proved", () =>
    expect(story([0, "unhealthy", true], [5, "unhealthy", true])).toEqual(["0 unhealthy"]));

  test("is better only when it stays better", () =>
    expect(
      story(
        [0, "unhealthy", true],
        [10, "healthy"],
        [20, "unhealthy"],
        [30, "healthy"],
        [80, "healthy"],
        [90, "healthy"],
      ),
    ).toEqual(["0 unhealthy", "90 healthy"]));

  test("is the worse of two levels between which it flickers on its way up", () =>
    expect(
      story(
        [0, "unhealthy", true],
        [10, "healthy"],
        [40, "degraded"],
        [70, "healthy"],
        [100, "healthy"],
        [160, "healthy"],
      ),
    ).toEqual(["0 unhealthy", "70 degraded", "160 healthy"]));
});

test.each([
  ["the first look", undefined, 0],
  ["a look in time", 5_000, 0],
  ["a look that is a little late", 9_000, 0],
  ["a look after an hour without any", 3_605_000, 3_600_000],
] as const)("time in which nobody could be heard: %s", (_name, sinceMs, missed) => {
  const now = 10_000_000;
  expect(missedMs(sinceMs === undefined ? undefined : now - sinceMs, now, 5_000)).toBe(missed);
});

import { expect, test } from "vitest";
import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { eloTrendWords, targetWords } from "./words.ts";

type Steering = NonNullable<ConfigSnapshot["steering"]>;
const trend = (slope: number | null, word: "improving" | "stable" | "declining"): Steering => ({
  knobs: [],
  trends: [
    {
      ...{ metric: "elo", value: 400, iteration: 9, points: 9, trend: word, plateau_since: null, anomaly: null },
      slope: slope === null ? null : { estimate: slope, low: slope - 1, high: slope + 1 },
    },
  ],
});

test("where the Elo goes is said with what a round gains, once there are enough of them", () => {
  expect(eloTrendWords({ steering: trend(9.54, "improving") })).toBe("improving, +9.5 a round");
  expect(eloTrendWords({ steering: trend(-2, "declining") })).toBe("declining, -2.0 a round");
  expect(eloTrendWords({ steering: trend(null, "stable") })).toBe("too early");
  expect(eloTrendWords({})).toBe("too early");
});

test("a target is said with the time that is left, or that it is reached", () => {
  const target = (in_seconds: number | null, reached = false): Pick<ConfigSnapshot, "outlook"> => ({
    outlook: {
      ...{ games_per_day: 0, newest_games_at: null, round_seconds: null },
      target: { what: "elo", value: 1_200, in_seconds, reached },
    },
  });
  expect(targetWords(target(7_200))).toBe("Elo +1200: in 2 h");
  expect(targetWords(target(null))).toBe("Elo +1200: too early");
  expect(targetWords(target(0, true))).toBe("Elo +1200: reached");
  expect(targetWords({})).toBe("none");
});

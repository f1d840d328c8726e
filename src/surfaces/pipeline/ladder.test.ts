import { describe, expect, it } from "vitest";
import { healthy, justStarted } from "../../../test/fixtures/pipeline-snapshots.ts";
import type { Rated } from "../../pipeline/snapshot.ts";
import { createPaint } from "../cli/paint.ts";
import { chosenRungs, isPassed, ladderLines, standingWords } from "./ladder.ts";

const [config] = healthy.configs;
const names = (max: number) => chosenRungs(config!, max).map(({ name }) => name);

describe("a ladder with little room", () => {
  it("keeps the champion of now, then the opponents around it, then the climb from its start", () => {
    expect(names(1)).toEqual(["champion 25"]);
    expect(names(3)).toEqual(["alphabeta-4", "champion 25", "mcts-1000"]);
    expect(names(8)).toEqual([
      "mcts-5000",
      "alphabeta-4",
      "champion 25",
      "mcts-1000",
      "alphabeta-2",
      "mcts-100",
      "champion 0",
      "random",
    ]);
    expect(names(1_000)).toHaveLength(config!.ladder.length);
  });

  it("is always sorted, best first, and never longer than asked for", () => {
    for (let max = 0; max <= config!.ladder.length; max += 1) {
      const elos = chosenRungs(config!, max).map(({ elo }) => elo);
      expect(elos.length).toBe(Math.max(max, 1));
      expect(elos).toEqual(elos.toSorted((a, b) => b - a));
    }
  });

  it("leaves the bars out where there is no room for them", () => {
    const lines = ladderLines(config!, { paint: createPaint(false), width: 40 }, { max: 3, indent: 0, label: "x" });
    expect(lines).toHaveLength(3);
  });
});

it("an opponent is passed when the whole interval lies above it", () => {
  const rated = (elo: number, half: number) => ({ elo, low: elo - half, high: elo + half }) as Rated;
  expect(isPassed(rated(300, 0), rated(340, 30))).toBe(true);
  expect(isPassed(rated(300, 0), rated(325, 30))).toBe(false);
});

describe("the standing in words", () => {
  it("says between which opponents the champion is", () => {
    expect(standingWords(config!)).toBe("above mcts-1000 (+305), below alphabeta-4 (+421)");
    expect(standingWords(justStarted.configs[0]!)).toBe("the champion is not rated yet");
    expect(standingWords({ ...config!, ladder: config!.ladder.filter(({ is_anchor }) => !is_anchor) })).toBe(
      "champion 25 +419 ±26",
    );
  });
});

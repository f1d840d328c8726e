import { describe, expect, it } from "vitest";
import { drawBlocks } from "./block.ts";
import { plackettLuce } from "./ladder.ts";
import { sprt } from "./sprt.ts";
import { drawInterval, drawLadder, drawRatio } from "./text-figures.ts";

const look = (counts: number[]) =>
  sprt(counts, drawBlocks(2), { model: "normalized", bounds: [0, 50], alpha: 0.05, beta: 0.05, batchBlocks: 8 });

describe("the drawing of a ratio", () => {
  it("shows it between the bounds, and with an arrow beyond them", () => {
    // The ratio is -0.89, and Wald's bounds are -2.94 and 2.94.
    expect(drawRatio(look([2, 4, 6, 3, 1]), 41)).toBe("├─┊───────────●─────┼─────────────────┊─┤");
    expect(drawRatio(look([0, 0, 0, 5, 40]), 41).at(-1)).toBe("▶");
    expect(drawRatio(look([40, 5, 0, 0, 0]), 41)[0]).toBe("◀");
  });
});

describe("the drawing of an interval", () => {
  it("lies where it belongs on the common scale", () => {
    expect(drawInterval({ estimate: 0, low: -50, high: 50 }, -100, 100, 21)).toBe("     ├────●────┤     ");
    expect(drawInterval({ estimate: -100, low: -100, high: -100 }, -100, 100, 5)).toBe("●    ");
    expect(drawInterval({ estimate: 3, low: 3, high: 3 }, 3, 3, 5)).toBe("  ●  ");
    expect(drawInterval({ estimate: 0, low: -1e9, high: 1e9 }, -1, 1, 5)).toBe("├─●─┤");
  });
});

describe("the drawing of a ladder", () => {
  const { ratings } = plackettLuce(
    [
      { players: ["net", "mcts-100"], winner: "net", games: 30 },
      { players: ["net", "mcts-100"], winner: "mcts-100", games: 10 },
      { players: ["random-with-a-name-that-goes-on-and-on", "mcts-100"], winner: "mcts-100", games: 20 },
    ],
    { zero: "mcts-100" },
  );
  it("has a line for each player, all of one width, best first", () => {
    const lines = drawLadder(ratings, 100).split("\n");
    expect(lines).toHaveLength(4);
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
    expect(lines[1]).toMatch(/^ {3}1 net +188\.0 +\d+\.\d +├─+●─+┤ +40 +75 %$/u);
    expect(lines[2]).toMatch(/^ {3}2 mcts-100 +0\.0 +anchor +● +60 +50 %$/u);
    expect(lines[3]).toContain("random-with-a-name-that-goes-on…");
  });

  it("fits its columns where they are enough for it", () => {
    for (const columns of [90, 100, 120])
      expect(drawLadder(ratings, columns).split("\n")[0]!.length).toBeLessThanOrEqual(columns);
  });
});

import { describe, expect, it } from "vitest";
import { masteryOf } from "./decide.ts";

const tally = (candidate: string, opponent: string, wins: number, draws: number, losses: number) => {
  const games = wins + draws + losses;
  return { candidate, opponent, wins, draws, losses, games, blocks: games / 2 };
};

describe("an opponent is mastered", () => {
  it("by games of both colours of a pairing, and by those of this player alone", () => {
    const both = [tally("m", "random", 60, 4, 0), tally("random", "m", 0, 0, 64), tally("old", "random", 0, 0, 500)];
    expect(masteryOf("m", "random", both)).toEqual({ games: 128, win_rate: 126 / 128 });
    expect(masteryOf("m", "random", both.slice(0, 1))).toBeUndefined();
    expect(masteryOf("old", "random", both)).toBeUndefined();
  });

  it("never by no games, nor by even ones", () => {
    expect(masteryOf("m", "random", [])).toBeUndefined();
    expect(masteryOf("m", "random", [tally("m", "random", 500, 100, 500)])).toBeUndefined();
  });
});

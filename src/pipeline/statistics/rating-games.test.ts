import { describe, expect, it } from "vitest";
import { plackettLuce } from "./ladder.ts";
import type { Match } from "./match.ts";
import { nextRatingGames } from "./rating-games.ts";

const even = (a: string, b: string, games: number): Match => ({ players: [a, b], winner: null, games });

describe("the difference of two ratings", () => {
  it("has the error of a direct match where only that links them, wherever the zero is", () => {
    const matches = [even("a", "b", 100), even("b", "c", 10)];
    for (const zero of ["a", "c"]) {
      const games = nextRatingGames(plackettLuce(matches, { zero }));
      const { elo, standardError } = games.find(({ players }) => players.join() === "a,b")!;
      expect(elo).toBeCloseTo(0, 9);
      expect(standardError).toBeCloseTo((400 / Math.LN10) * Math.sqrt(1 / (100.5 * 0.25)), 8);
    }
  });

  it("is unknown between strangers", () => {
    const ladder = plackettLuce([even("a", "b", 1), even("x", "y", 1)]);
    expect(nextRatingGames(ladder).map(({ players }) => players.join())).toEqual(["a,b", "x,y"]);
  });
});

describe("the next rating games", () => {
  it("go where the uncertainty is largest", () => {
    const ladder = plackettLuce([even("a", "b", 1000), even("b", "c", 1000), even("c", "new", 4)]);
    expect(nextRatingGames(ladder, 1)[0]!.players).toContain("new");
  });

  it("are not wasted on a pair whose result is known beforehand", () => {
    const ladder = plackettLuce([
      even("a", "b", 20),
      { players: ["b", "far"], winner: "b", games: 400 },
      { players: ["b", "far"], winner: "far", games: 1 },
      even("b", "near", 20),
    ]);
    const games = nextRatingGames(ladder);
    expect(games[0]!.players).toEqual(["a", "near"]);
    const gain = (a: string, b: string) => games.find(({ players }) => players.join() === `${a},${b}`)!.gainPercent;
    expect(gain("a", "near")).toBeGreaterThan(gain("a", "far"));
    expect(nextRatingGames(ladder, 2)).toHaveLength(2);
  });
});

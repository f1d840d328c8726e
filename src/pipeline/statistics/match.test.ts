import { describe, expect, it } from "vitest";
import { isOperatingError } from "../../kernel/index.ts";
import { checkMatch, choicesOf, type Match, mergeChoices } from "./match.ts";

const names = ["a", "b", "c", "d"];
const indexOf = (player: string) => names.indexOf(player);
const merged = (match: Match) =>
  mergeChoices(choicesOf(match, indexOf)).toSorted((x, y) => y.members.length - x.members.length);

describe("a match as choices", () => {
  it("is one choice for its winner, and shared by all for a draw", () => {
    expect(choicesOf({ players: ["a", "b"], winner: "b", games: 3 }, indexOf)).toEqual([
      { members: [0, 1], wins: [0, 3] },
    ]);
    expect(choicesOf({ players: ["a", "b"], winner: null }, indexOf)).toEqual([{ members: [0, 1], wins: [0.5, 0.5] }]);
  });

  it("says nothing of the losers when only the winner is known", () => {
    expect(choicesOf({ players: ["a", "b", "c"], winner: "c" }, indexOf)).toHaveLength(1);
  });

  it("is a choice for every place but the last when the order is known", () => {
    expect(choicesOf({ players: ["a", "b", "c"], ranks: [2, 3, 1] }, indexOf)).toEqual([
      { members: [0, 1, 2], wins: [0, 0, 1] },
      { members: [0, 1], wins: [1, 0] },
    ]);
  });

  it("shares ties among all orders of the tied", () => {
    expect(merged({ players: ["a", "b"], ranks: [1, 1] })).toEqual([{ members: [0, 1], wins: [0.5, 0.5] }]);
    const [first, second] = merged({ players: ["a", "b", "c"], ranks: [1, 1, 5] });
    expect(first).toEqual({ members: [0, 1, 2], wins: [0.5, 0.5, 0] });
    expect(second).toMatchObject({ wins: [0.5, 0] });
    const all = merged({ players: ["a", "b", "c", "d"], ranks: [1, 1, 1, 1] });
    expect(all[0]!.wins.map((win) => win.toFixed(9))).toEqual(Array(4).fill("0.250000000"));
    // Whatever the ties, each place is given once: four players make three choices' worth of wins.
    expect(all.flatMap(({ wins }) => wins).reduce((sum, win) => sum + win, 0)).toBeCloseTo(3, 12);
  });

  it("merges equal sets whatever the order of their players", () => {
    const choices = mergeChoices([
      { members: [2, 0], wins: [1, 0] },
      { members: [0, 2], wins: [1, 2] },
    ]);
    expect(choices).toEqual([{ members: [0, 2], wins: [1, 3] }]);
  });
});

describe("a match that cannot be", () => {
  it.each([
    [{ players: ["a"], winner: "a" }],
    [{ players: ["a", "b", "c", "d", "e"], winner: "a" }],
    [{ players: ["a", "a"], winner: "a" }],
    [{ players: ["a", ""], winner: "a" }],
    [{ players: ["a", "b"], winner: "c" }],
    [{ players: ["a", "b"], ranks: [1] }],
    [{ players: ["a", "b"], ranks: [1, 0] }],
    [{ players: ["a", "b"], ranks: [1, Number.NaN] }],
    [{ players: ["a", "b"], winner: "a", games: 0 }],
    [{ players: ["a", "b"], winner: "a", games: 1.5 }],
  ] as [Match][])("is refused: %j", (match) => {
    try {
      checkMatch(match);
      expect.unreachable("the match was accepted");
    } catch (thrown) {
      expect(isOperatingError(thrown, "INVALID_MATCH")).toBe(true);
    }
  });
});

import { describe, expect, it } from "vitest";
import { isOperatingError } from "../../kernel/index.ts";
import {
  cellOf,
  checkCounts,
  drawBlocks,
  frequenciesOf,
  type GameResult,
  momentsOf,
  shapeOfCounts,
  singleGames,
  winBlocks,
} from "./block.ts";

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run();
  } catch (thrown) {
    return isOperatingError(thrown) ? thrown.code : `not typed: ${String(thrown)}`;
  }
  return undefined;
};

describe("a block", () => {
  it("of two players falls into LL, LD, DD or WL, WD, WW", () => {
    const pairs = drawBlocks(2);
    expect(pairs.scores).toEqual([0, 0.25, 0.5, 0.75, 1]);
    const rows: [GameResult[], number][] = [
      [["loss", "loss"], 0],
      [["draw", "loss"], 1],
      [["draw", "draw"], 2],
      [["loss", "win"], 2],
      [["win", "draw"], 3],
      [["win", "win"], 4],
    ];
    for (const [results, cell] of rows) expect(cellOf(pairs, results)).toBe(cell);
  });

  it("of three or four players counts wins, and a draw as its share where draws have cells", () => {
    expect(cellOf(winBlocks(3), ["win", "loss", "win"])).toBe(2);
    expect(winBlocks(4).reference).toBe(0.25);
    expect(cellOf(drawBlocks(3), ["win", "draw", "loss"])).toBe(4);
    expect(drawBlocks(3).scores[4]).toBeCloseTo((1 + 1 / 3) / 3, 15);
    expect(cellOf(drawBlocks(4), ["draw", "draw", "draw", "draw"])).toBe(4);
    expect(cellOf(singleGames(), ["draw"])).toBe(1);
  });

  it("that is not whole, or has a draw where none can be, is refused", () => {
    expect(codeOf(() => cellOf(drawBlocks(2), ["win"]))).toBe("INVALID_BLOCK");
    expect(codeOf(() => cellOf(winBlocks(3), ["draw", "draw", "draw"]))).toBe("INVALID_BLOCK");
    expect(codeOf(() => cellOf(drawBlocks(2), ["win", "won" as GameResult]))).toBe("INVALID_BLOCK");
  });

  it("has a shape that the number of counts tells", () => {
    expect(shapeOfCounts(2, 5).labels).toEqual(["LL", "LD", "DD|WL", "WD", "WW"]);
    expect(shapeOfCounts(2, 3).labels).toEqual(["LL", "WL", "WW"]);
    expect(shapeOfCounts(3, 4).labels).toEqual(["0", "1", "2", "3"]);
    expect(shapeOfCounts(4, 17).gamesPerBlock).toBe(4);
    expect(codeOf(() => shapeOfCounts(2, 4))).toBe("INVALID_COUNTS");
    for (const players of [1, 5, 2.5, Number.NaN])
      expect(codeOf(() => shapeOfCounts(players, 5))).toBe("INVALID_PLAYERS");
  });
});

describe("counts", () => {
  it("that are negative, broken, not whole, not there or too many have a typed error", () => {
    const bad: number[][] = [
      [0, 0, 0, 0, 0],
      [1, 2, 3, 4],
      [],
      [1, -1, 0, 0, 0],
      [1, Number.NaN, 0, 0, 0],
      [1, Number.POSITIVE_INFINITY, 0, 0, 0],
      [1, 0.5, 0, 0, 0],
      [1e13, 0, 0, 0, 0],
    ];
    for (const counts of bad) expect(codeOf(() => checkCounts(counts, drawBlocks(2)))).toBe("INVALID_COUNTS");
    expect(checkCounts([13, 37, 50, 25, 3], drawBlocks(2))).toBe(128);
  });

  it("have the mean and variance of their scores, and a trace in every empty cell", () => {
    expect(momentsOf([13, 37, 50, 25, 3], drawBlocks(2).scores).mean).toBe(0.4375);
    expect(momentsOf([0, 0, 7, 0, 0], drawBlocks(2).scores).variance).toBe(0);
    const { total, frequencies } = frequenciesOf([0, 4, 0]);
    expect(total).toBeCloseTo(4.002, 12);
    expect(frequencies[0]).toBeCloseTo(0.001 / 4.002, 15);
  });
});

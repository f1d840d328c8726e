import { checkCount, checkWithin, invalid } from "./checks.ts";

/**
 * The unit of evidence: one opening, played once from every seat. The games of a block share their opening, so they are
 * not independent; blocks are. A result is a row of counts, one for each score a block can have, lowest first.
 */
export interface BlockShape {
  readonly players: number;
  readonly gamesPerBlock: number;
  /** The mean score of a game that each cell stands for, from 0 to 1. */
  readonly scores: readonly number[];
  readonly labels: readonly string[];
  /** The mean score of equal players: 1 / players. */
  readonly reference: number;
}

export type GameResult = "win" | "draw" | "loss";

/** What a count of zero becomes, so that no hypothesis is impossible. */
const EMPTY_CELL = 0.001;

/** Above this, one more block could no longer be told from none. */
const MAX_BLOCKS = 1e12;

const checkPlayers = (players: number): void => {
  if (players !== 2 && players !== 3 && players !== 4)
    throw invalid("PLAYERS", `A block has 2, 3 or 4 players, not ${String(players)}.`);
};

const shape = (players: number, gamesPerBlock: number, labels: readonly string[]): BlockShape => ({
  players,
  gamesPerBlock,
  labels,
  scores: labels.map((_, cell) => cell / (labels.length - 1)),
  reference: 1 / players,
});

/** Blocks scored in whole wins, 0 to `players`: for games that always have a winner. */
export function winBlocks(players: number): BlockShape {
  checkPlayers(players);
  const wins = Array.from({ length: players + 1 }, (_, count) => String(count));
  return shape(players, players, players === 2 ? ["LL", "WL", "WW"] : wins);
}

/** Blocks in which a drawn game gives each player 1 / `players`; for two players these are LL, LD, DD or WL, WD, WW. */
export function drawBlocks(players: number): BlockShape {
  checkPlayers(players);
  if (players === 2) return shape(2, 2, ["LL", "LD", "DD|WL", "WD", "WW"]);
  const label = (cell: number) => (cell % players === 0 ? String(cell / players) : `${cell}/${players}`);
  return shape(
    players,
    players,
    Array.from({ length: players * players + 1 }, (_, cell) => label(cell)),
  );
}

/** Single games, not played in blocks: loss, draw, win. Two players only, as a draw is worth half a win there. */
export const singleGames = (): BlockShape => shape(2, 1, ["L", "D", "W"]);

/** The shape that a row of counts must have, told by its length: players + 1 cells, or players squared + 1 with draws. */
export function shapeOfCounts(players: number, cells: number): BlockShape {
  checkPlayers(players);
  if (cells === players + 1) return winBlocks(players);
  if (cells === players * players + 1) return drawBlocks(players);
  throw invalid(
    "COUNTS",
    `Blocks of ${players} players need ${players + 1} counts (wins) or ${players * players + 1} (wins and draws), not ${cells}.`,
    players === 2 ? "Give five counts: LL, LD, DD or WL, WD, WW." : "Give the number of blocks with 0, 1, 2 ... wins.",
  );
}

/** The number of blocks, after checking that each count is a whole number and that there is at least one block. */
export function checkCounts(counts: readonly number[], blocks: BlockShape): number {
  if (counts.length !== blocks.scores.length)
    throw invalid(
      "COUNTS",
      `Expected ${blocks.scores.length} counts (${blocks.labels.join(", ")}), not ${counts.length}.`,
    );
  let total = 0;
  for (const [cell, count] of counts.entries()) {
    checkCount(count, 0, "COUNTS", `The count of ${blocks.labels[cell]}`);
    total += count;
  }
  if (total === 0)
    throw invalid("COUNTS", "All counts are zero.", "There is nothing to measure before the first block.");
  if (total > MAX_BLOCKS) throw invalid("COUNTS", `${total} blocks are more than the arithmetic can tell apart.`);
  return total;
}

/** The cell of a block from the candidate's results, one for each seat. */
export function cellOf(blocks: BlockShape, results: readonly GameResult[]): number {
  if (results.length !== blocks.gamesPerBlock)
    throw invalid(
      "BLOCK",
      `A block has ${blocks.gamesPerBlock} games, not ${results.length}: all seats, or it does not count.`,
    );
  const cellsPerGame = (blocks.scores.length - 1) / blocks.gamesPerBlock;
  let cell = 0;
  for (const result of results) {
    if (result === "win") cell += cellsPerGame;
    else if (result === "draw") {
      if (cellsPerGame % blocks.players !== 0)
        throw invalid("BLOCK", "A draw has no cell in blocks scored in whole wins.", "Use blocks with draws.");
      cell += cellsPerGame / blocks.players;
    } else if (result !== "loss") throw invalid("BLOCK", `A game is a win, a draw or a loss, not ${String(result)}.`);
  }
  return cell;
}

export interface Moments {
  readonly blocks: number;
  readonly mean: number;
  /** Of one block's score. */
  readonly variance: number;
}

export function momentsOf(counts: readonly number[], scores: readonly number[]): Moments {
  let blocks = 0;
  let sum = 0;
  for (const [cell, count] of counts.entries()) {
    blocks += count;
    sum += count * scores[cell]!;
  }
  const mean = sum / blocks;
  let squares = 0;
  for (const [cell, count] of counts.entries()) squares += count * (scores[cell]! - mean) ** 2;
  return { blocks, mean, variance: squares / blocks };
}

/** Frequencies with a trace in every empty cell, and the total they stand for. */
export function frequenciesOf(counts: readonly number[]): { readonly total: number; readonly frequencies: number[] } {
  let total = 0;
  for (const count of counts) total += count === 0 ? EMPTY_CELL : count;
  return { total, frequencies: counts.map((count) => (count === 0 ? EMPTY_CELL : count) / total) };
}

export const checkRedundancy = (redundancy: number): void =>
  checkWithin(redundancy, 0, 1, "REDUNDANCY", "The share of repeated positions");

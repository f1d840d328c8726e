/**
 * Training rows, column by column. A row is a position as the mover saw it, what the search made of it and how the
 * game ended: everything a trainer needs, and nothing that requires knowing the rules.
 */
import type { Game } from "../games/game.ts";

export interface Samples {
  readonly configKey: string;
  readonly count: number;
  readonly cells: number;
  readonly moves: number;
  readonly players: number;
  /** count x cells: the mover's view of the board. */
  readonly codes: Uint8Array;
  /** count x moves: 1 for a legal move, in the mover's view like the policy. */
  readonly legal: Uint8Array;
  /** count x moves: the share of visits of each move. */
  readonly policy: Float32Array;
  /** count x players, counted from the mover: the search's expectation, and the share that the game gave. */
  readonly search: Float32Array;
  readonly outcome: Float32Array;
  /** count: the ply of the position, and which game of its batch it comes from. */
  readonly ply: Uint16Array;
  readonly game: Uint32Array;
}

/** The columns in the order of their files, each with what it holds and, unless that is one number a row, with its width. */
export const COLUMNS = [
  ["codes", Uint8Array, "cells"],
  ["legal", Uint8Array, "moves"],
  ["policy", Float32Array, "moves"],
  ["search", Float32Array, "players"],
  ["outcome", Float32Array, "players"],
  ["ply", Uint16Array, undefined],
  ["game", Uint32Array, undefined],
] as const;

type Sides = Pick<Game, "configKey" | "cells" | "moves" | "players">;

/** Rows of a game whose columns are made one by one, each of its name, type and shape. */
export const makeSamples = (
  { configKey, cells, moves, players }: Sides,
  count: number,
  make: (name: string, type: (typeof COLUMNS)[number][1], shape: number[]) => unknown,
): Samples => {
  const sides = { cells, moves, players };
  const columns = COLUMNS.map(([name, type, side]) => [
    name,
    make(name, type, side === undefined ? [count] : [count, sides[side]]),
  ]);
  return { configKey, count, ...sides, ...Object.fromEntries(columns) };
};

export const emptySamples = (game: Sides, count: number): Samples =>
  makeSamples(game, count, (_, type, [rows, width = 1]) => new type(rows! * width));

/** Copies rows from one set to another of the same game. */
export function copySamples(from: Samples, start: number, count: number, into: Samples, at: number): void {
  for (const [name, , side] of COLUMNS) {
    const width = side === undefined ? 1 : from[side];
    into[name].set(from[name].subarray(start * width, (start + count) * width), at * width);
  }
}

export const countRows = (parts: readonly Samples[]): number => parts.reduce((sum, { count }) => sum + count, 0);

export function joinSamples(parts: readonly Samples[], game: Sides): Samples {
  const all = emptySamples(game, countRows(parts));
  let at = 0;
  for (const part of parts) {
    copySamples(part, 0, part.count, all, at);
    at += part.count;
  }
  return all;
}

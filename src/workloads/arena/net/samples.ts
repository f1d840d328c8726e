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

export const emptySamples = (
  game: Pick<Game, "configKey" | "cells" | "moves" | "players">,
  count: number,
): Samples => ({
  configKey: game.configKey,
  count,
  cells: game.cells,
  moves: game.moves,
  players: game.players,
  codes: new Uint8Array(count * game.cells),
  legal: new Uint8Array(count * game.moves),
  policy: new Float32Array(count * game.moves),
  search: new Float32Array(count * game.players),
  outcome: new Float32Array(count * game.players),
  ply: new Uint16Array(count),
  game: new Uint32Array(count),
});

/** Copies rows from one set to another of the same game. */
export function copySamples(from: Samples, start: number, count: number, into: Samples, at: number): void {
  const { cells, moves, players } = from;
  into.codes.set(from.codes.subarray(start * cells, (start + count) * cells), at * cells);
  into.legal.set(from.legal.subarray(start * moves, (start + count) * moves), at * moves);
  into.policy.set(from.policy.subarray(start * moves, (start + count) * moves), at * moves);
  into.search.set(from.search.subarray(start * players, (start + count) * players), at * players);
  into.outcome.set(from.outcome.subarray(start * players, (start + count) * players), at * players);
  into.ply.set(from.ply.subarray(start, start + count), at);
  into.game.set(from.game.subarray(start, start + count), at);
}

export function joinSamples(
  parts: readonly Samples[],
  game: Pick<Game, "configKey" | "cells" | "moves" | "players">,
): Samples {
  const all = emptySamples(
    game,
    parts.reduce((sum, part) => sum + part.count, 0),
  );
  let at = 0;
  for (const part of parts) {
    copySamples(part, 0, part.count, all, at);
    at += part.count;
  }
  return all;
}

import type { State } from "../games/game.ts";

/** Whoever chooses moves. A player is deterministic: the seed of the game and the moves so far decide its choice. */
export interface Player {
  readonly name: string;
  newGame(seed: number): void;
  /** A legal move for the seat to move. The state stays as it is. */
  choose(state: State): number;
  /** Tells the player of every move of the game, its own included. */
  played(move: number): void;
}

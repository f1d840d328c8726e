/**
 * The shape of a game for 2 to 4 players: perfect information, no chance, one move at a time, bounded length.
 *
 * A state is one flat Int32Array: a header that all games share, then whatever the game keeps. Copying a state is one
 * `set`, and nothing in `play`, `legalMoves` or `encode` allocates. Moves are small integers; the same integers index
 * the policy of a network, once turned to the mover's view.
 */

export type State = Int32Array;

/** Header slots at the front of every state. */
export const TURN = 0;
export const PLY = 1;
/** RUNNING, the winner's seat, or the number of players for a draw. */
export const OUTCOME = 2;
/** The last move, or -1 at the start. */
export const LAST = 3;
/** 1 when the seat after the last mover had to pass, so that counts of plies can include the pass. */
export const PASSED = 4;
export const HEADER = 8;

export const RUNNING = -1;

/** Where each cell and each move goes: the content of cell i moves to cell `cells[i]`. */
export interface Symmetry {
  readonly name: string;
  readonly cells: Uint8Array;
  readonly moves: Uint8Array;
}

/** What can be seen on a board: enough to rebuild a state. */
export interface Position {
  /** 0 for empty, seat + 1 for a stone. */
  readonly cells: Uint8Array;
  readonly turn: number;
  readonly ply: number;
  readonly last: number;
}

export interface Game {
  readonly configKey: string;
  readonly title: string;
  readonly rules: string;
  readonly players: number;
  readonly rows: number;
  readonly columns: number;
  readonly cells: number;
  /** Moves are the integers below this. */
  readonly moves: number;
  readonly maxPlies: number;
  /** How many different codes `encode` writes for a cell. */
  readonly codes: number;
  /** Groups of cells whose joint content the network looks up as one input. */
  readonly tuples: readonly (readonly number[])[];
  /**
   * Where contents of a tuple mean the same, the row that each stands for; indexed by the codes of the tuple read as one
   * number, first cell first. Without it every content has a row of its own.
   */
  readonly sharedRows?: Int32Array;
  /** The identity first. Each commutes with every move. */
  readonly symmetries: readonly Symmetry[];
  /** For each seat, how board moves map to the policy of a network that always sees the board as the mover. */
  readonly views: readonly Uint8Array[];

  newState(): State;
  reset(state: State): void;
  /** Builds the state of a position from nothing but what the board shows. */
  setup(state: State, position: Position): void;
  /** Writes the legal moves in ascending order and answers how many; 0 exactly when the game is over. */
  legalMoves(state: State, out: Int32Array): number;
  isLegal(state: State, move: number): boolean;
  /** Plays a legal move; an illegal one leaves the state undefined. */
  play(state: State, move: number): void;
  /** 0 for empty, seat + 1 for a stone. */
  cell(state: State, cell: number): number;
  /** The board as the mover sees it: 0 empty, 1 the mover's, 2 the next seat's, and so on; a game may add codes. */
  encode(state: State, out: Uint8Array, offset: number): void;
  /** A hand-made judgement of a running position for one seat, larger is better; for the alpha-beta baselines. */
  heuristic(state: State, seat: number): number;

  formatMove(move: number): string;
  /** The move a text names, or -1 when it names none on this board. Says nothing about legality. */
  parseMove(text: string): number;
  draw(state: State): string;
}

export const isOver = (state: State): boolean => state[OUTCOME]! !== RUNNING;

/** What each seat gets: the winner 1, everybody an equal share in a draw. The shares always sum to 1. */
export function scores(players: number, outcome: number, out: Float64Array, offset = 0): void {
  for (let seat = 0; seat < players; seat += 1)
    out[offset + seat] = outcome === players ? 1 / players : outcome === seat ? 1 : 0;
}

/** A number nobody shares by accident, for tests and repetition counts: FNV-1a over what the board shows. */
export function fingerprint(game: Game, state: State): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < game.cells; i += 1) hash = Math.imul(hash ^ game.cell(state, i), 0x01000193);
  return Math.imul(hash ^ state[TURN]!, 0x01000193) >>> 0;
}

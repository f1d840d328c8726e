/** A position as people look at it, and as a network does. Needs nothing but the language: browsers show the same. */
import { type Game, isOver, OUTCOME, type State, TURN } from "../games/game.ts";
import type { Network } from "../net/network.ts";
import { networkEvaluator } from "../search/evaluator.ts";

export interface LegalMove {
  /** In the notation of the game. */
  readonly text: string;
  /** The cell that gets a stone; null for a move that adds none. */
  readonly cell: number | null;
}

export interface Board {
  /** 0 for empty, seat + 1 for a stone. */
  readonly cells: readonly number[];
  /** The seat to move, from 0. */
  readonly turn: number;
  readonly isOver: boolean;
  /** The winner's seat; null for a draw and while the game runs. */
  readonly winner: number | null;
  readonly legal: readonly LegalMove[];
}

const cellsOf = (game: Game, state: State): number[] =>
  Array.from({ length: game.cells }, (_, i) => game.cell(state, i));

/** The cell that a move puts its stone on. Stones that turn or move are none. */
function cellOf(game: Game, state: State, before: readonly number[], move: number): number | null {
  const next = state.slice();
  game.play(next, move);
  const after = cellsOf(game, next);
  const isMore = after.filter((stone) => stone !== 0).length > before.filter((stone) => stone !== 0).length;
  const found = after.findIndex((stone, i) => stone !== 0 && before[i] === 0);
  return isMore && found >= 0 ? found : null;
}

export function boardOf(game: Game, state: State): Board {
  const moves = new Int32Array(game.moves);
  const cells = cellsOf(game, state);
  const outcome = state[OUTCOME]!;
  return {
    cells,
    turn: state[TURN]!,
    isOver: isOver(state),
    winner: isOver(state) && outcome < game.players ? outcome : null,
    legal: Array.from(moves.subarray(0, game.legalMoves(state, moves)), (move) => ({
      text: game.formatMove(move),
      cell: cellOf(game, state, cells, move),
    })),
  };
}

/** What a network makes of a position, without a search. */
export interface NetworkView {
  /** How good each legal move looks, as shares that sum to 1; in the order of `legal`. */
  readonly policy: readonly number[];
  /** What each seat may expect, as shares that sum to 1. */
  readonly values: readonly number[];
}

export function networkViews(game: Game, network: Network): (state: State) => NetworkView | null {
  const evaluator = networkEvaluator(game, network);
  const moves = new Int32Array(game.moves);
  const priors = new Float32Array(game.moves);
  const values = new Float64Array(game.players);
  return (state) => {
    const count = game.legalMoves(state, moves);
    if (count === 0) return null;
    evaluator.evaluate(state, moves, count, priors, 0, values);
    return { policy: Array.from(priors.subarray(0, count)), values: Array.from(values) };
  };
}

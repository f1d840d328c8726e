/**
 * Alpha-beta on the game's hand-made judgement. With more than two players it is paranoid: everybody else is assumed
 * to play against the seat that searches. The root's moves are tried in a seeded order, so equals are not always the same.
 */
import { pick, seededRandom } from "../../../kernel/index.ts";
import { type Game, OUTCOME, RUNNING, type State, TURN } from "../games/game.ts";
import type { Player } from "./player.ts";

const WIN = 1_000_000;

export function alphaBeta(game: Game, depth: number): Player {
  const states = Array.from({ length: depth + 1 }, () => game.newState());
  const lists = Array.from({ length: depth + 1 }, () => new Int32Array(game.moves));
  let random = seededRandom(0);

  const worthOf = (state: State, left: number, seat: number, low: number, high: number): number => {
    const outcome = state[OUTCOME]!;
    // Sooner wins and later losses are better: the plies left tell which is which.
    if (outcome !== RUNNING) return outcome === seat ? WIN + left : outcome === game.players ? 0 : -WIN - left;
    if (left === 0) return game.heuristic(state, seat);
    const moves = lists[left]!;
    const next = states[left - 1]!;
    const count = game.legalMoves(state, moves);
    const own = state[TURN]! === seat;
    let alpha = low;
    let beta = high;
    for (let i = 0; i < count && alpha < beta; i += 1) {
      next.set(state);
      game.play(next, moves[i]!);
      const value = worthOf(next, left - 1, seat, alpha, beta);
      if (own && value > alpha) alpha = value;
      if (!own && value < beta) beta = value;
    }
    return own ? alpha : beta;
  };

  return {
    name: `alphabeta-${depth}`,
    newGame(seed) {
      random = seededRandom(seed);
    },
    choose(state) {
      const moves = lists[depth]!;
      const count = game.legalMoves(state, moves);
      for (let i = count - 1; i > 0; i -= 1) {
        const j = pick(random, i + 1);
        const held = moves[i]!;
        moves[i] = moves[j]!;
        moves[j] = held;
      }
      const seat = state[TURN]!;
      let best = moves[0]!;
      let alpha = Number.NEGATIVE_INFINITY;
      for (let i = 0; i < count; i += 1) {
        const next = states[depth - 1]!;
        next.set(state);
        game.play(next, moves[i]!);
        const value = worthOf(next, depth - 1, seat, alpha, Number.POSITIVE_INFINITY);
        if (value > alpha) {
          alpha = value;
          best = moves[i]!;
        }
      }
      return best;
    },
    played() {},
  };
}

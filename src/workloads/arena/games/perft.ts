/** Perft: the number of ways to play a given number of plies. The oldest proof that a move generator is right. */
import { type Game, PASSED, type State } from "./game.ts";

/** A forced pass counts as a ply of its own, as in the published counts for Othello. */
export function perft(game: Game, depth: number, from?: State): number {
  if (depth === 0) return 1;
  const states = Array.from({ length: depth + 1 }, () => game.newState());
  const lists = Array.from({ length: depth + 1 }, () => new Int32Array(game.moves));
  if (from) states[depth]!.set(from);
  const walk = (left: number): number => {
    const state = states[left]!;
    const moves = lists[left]!;
    const count = game.legalMoves(state, moves);
    if (left === 1) return count;
    let total = 0;
    for (let i = 0; i < count; i += 1) {
      const next = states[left - 1]!;
      next.set(state);
      game.play(next, moves[i]!);
      if (next[PASSED]! === 0) total += walk(left - 1);
      else if (left === 2) total += 1;
      else {
        states[left - 2]!.set(next);
        total += walk(left - 2);
      }
    }
    return total;
  };
  return walk(depth);
}

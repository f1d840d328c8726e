import { type Game, OUTCOME, PLY, scores, TURN } from "../games/game.ts";
import { copySamples, emptySamples, type Samples } from "../net/samples.ts";
import type { GameRecord } from "./self-play.ts";

/**
 * Rows of games that were played elsewhere, of which nobody knows what a search made of them: the policy is the move that was
 * played, and the expectation is how the game ended. The games must follow the rules. Their numbers begin with `first`.
 */
export function rowsOfGames(game: Game, games: readonly GameRecord[], first = 0): Samples {
  const { cells, moves, players } = game;
  const plies = games.reduce((sum, one) => sum + one.moves.length, 0);
  const rows = emptySamples(game, plies);
  const state = game.newState();
  const legal = new Int32Array(moves);
  const shares = new Float64Array(players);
  const seats = new Uint8Array(plies);
  let count = 0;
  for (const [index, record] of games.entries()) {
    const begin = count;
    game.reset(state);
    for (const move of record.moves) {
      const found = game.legalMoves(state, legal);
      const turn = state[TURN]!;
      const view = game.views[turn]!;
      // Where there is no choice there is nothing to learn.
      if (found > 1) {
        game.encode(state, rows.codes, count * cells);
        for (let i = 0; i < found; i += 1) rows.legal[count * moves + view[legal[i]!]!] = 1;
        rows.policy[count * moves + view[move]!] = 1;
        rows.ply[count] = state[PLY]!;
        rows.game[count] = first + index;
        seats[count] = turn;
        count += 1;
      }
      game.play(state, move);
    }
    scores(players, state[OUTCOME]!, shares);
    for (let row = begin; row < count; row += 1)
      for (let k = 0; k < players; k += 1) {
        const share = shares[(seats[row]! + k) % players]!;
        rows.outcome[row * players + k] = share;
        rows.search[row * players + k] = share;
      }
  }
  const all = emptySamples(game, count);
  copySamples(rows, 0, count, all, 0);
  return all;
}

import type { Player } from "../baselines/player.ts";
import type { Game } from "../games/game.ts";
import type { Network } from "../net/network.ts";
import { networkEvaluator } from "./evaluator.ts";
import { createSearch, type SearchConfig } from "./puct.ts";

/** Plays the most visited move of a search without noise: the strongest play of a network, and one game for one opening. */
export function searchPlayer(name: string, game: Game, network: Network, config: SearchConfig): Player {
  const search = createSearch(game, networkEvaluator(game, network), config);
  const moves = new Int32Array(game.moves);
  return {
    name,
    newGame: () => search.reset(),
    choose(state) {
      if (game.legalMoves(state, moves) === 1) return moves[0]!;
      search.run(state);
      return search.best();
    },
    played: (move) => search.advance(move),
  };
}

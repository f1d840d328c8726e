import { pick, seededRandom } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import type { Player } from "./player.ts";

/** Any legal move, each as likely as the others. */
export function randomPlayer(game: Game): Player {
  const moves = new Int32Array(game.moves);
  let random = seededRandom(0);
  return {
    name: "random",
    newGame(seed) {
      random = seededRandom(seed);
    },
    choose: (state) => moves[pick(random, game.legalMoves(state, moves))]!,
    played() {},
  };
}

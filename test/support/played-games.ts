/** Games of random legal moves, played to their end by the rules: quick to make, and true. */
import { seededRandom } from "../../src/kernel/index.ts";
import { encodeGames } from "../../src/workloads/arena/files/games-file.ts";
import { createGame } from "../../src/workloads/arena/games/catalog.ts";
import { isOver, OUTCOME } from "../../src/workloads/arena/games/game.ts";
import type { GameRecord } from "../../src/workloads/arena/play/self-play.ts";

export const CONFIG = "connect4_7x6_2p";

export function playedGames(count: number, seed = 1, configKey = CONFIG): GameRecord[] {
  const game = createGame(configKey);
  const random = seededRandom(seed);
  const state = game.newState();
  const legal = new Int32Array(game.moves);
  return Array.from({ length: count }, (_, i) => {
    game.reset(state);
    const moves: number[] = [];
    while (!isOver(state)) {
      const move = legal[Math.floor(random.next() * game.legalMoves(state, legal))]!;
      moves.push(move);
      game.play(state, move);
    }
    return { seed: seed * 1_000 + i, outcome: state[OUTCOME]!, moves: Uint8Array.from(moves) };
  });
}

/** A file of such games, as a job would have made it. */
export const gamesFile = (count: number, seed = 1, configKey = CONFIG) =>
  encodeGames(configKey, playedGames(count, seed, configKey));

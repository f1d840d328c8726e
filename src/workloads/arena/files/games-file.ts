import type { Json } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import type { GameRecord } from "../play/self-play.ts";
import { decodeFile, type EncodedFile, encodeFile } from "./container.ts";
import { corrupt } from "./errors.ts";
import { faultOfGame, GAMES, type GamesFile, gamesIn } from "./games-content.ts";

export function encodeGames(configKey: string, games: readonly GameRecord[], origin: Json = {}): EncodedFile {
  const moves = Buffer.concat(games.map((game) => game.moves));
  return encodeFile({
    ...GAMES,
    about: { config_key: configKey, origin },
    columns: [
      { name: "seeds", shape: [games.length], data: Uint32Array.from(games, ({ seed }) => seed) },
      { name: "outcomes", shape: [games.length], data: Uint8Array.from(games, ({ outcome }) => outcome) },
      { name: "lengths", shape: [games.length], data: Uint16Array.from(games, (game) => game.moves.length) },
      { name: "moves", shape: [moves.length], data: moves },
    ],
  });
}

/** Reads games and plays every one of them through; one that is wrong makes the file a corrupt one. */
export function decodeGames(bytes: Uint8Array): GamesFile {
  const file = decodeUnplayedGames(bytes);
  const game = createGame(file.configKey);
  const state = game.newState();
  file.games.forEach((record, i) => {
    const fault = faultOfGame(game, record, state);
    if (fault !== undefined) throw corrupt(`Game ${i} ${fault}.`);
  });
  return file;
}

/** Reads games without playing them, for whoever does that by itself: what they claim may be wrong. */
export const decodeUnplayedGames = (bytes: Uint8Array): GamesFile =>
  gamesIn(decodeFile(bytes, GAMES.kind, GAMES.version));

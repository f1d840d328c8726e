import type { Json } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import { type Game, isOver, OUTCOME, type State } from "../games/game.ts";
import type { GameRecord } from "../play/self-play.ts";
import { columnOf, decodeFile, type EncodedFile, encodeFile } from "./container.ts";
import { corrupt } from "./errors.ts";

const KIND = "games";
const VERSION = 1;

export interface GamesFile {
  readonly configKey: string;
  readonly games: readonly GameRecord[];
  readonly origin: Json;
}

export function encodeGames(configKey: string, games: readonly GameRecord[], origin: Json = {}): EncodedFile {
  const moves = Buffer.concat(games.map((game) => game.moves));
  return encodeFile({
    kind: KIND,
    version: VERSION,
    about: { config_key: configKey, origin },
    columns: [
      { name: "seeds", shape: [games.length], data: Uint32Array.from(games, ({ seed }) => seed) },
      { name: "outcomes", shape: [games.length], data: Uint8Array.from(games, ({ outcome }) => outcome) },
      { name: "lengths", shape: [games.length], data: Uint16Array.from(games, (game) => game.moves.length) },
      { name: "moves", shape: [moves.length], data: moves },
    ],
  });
}

/**
 * What is wrong with a game, or undefined: it counts only if its moves are legal to the end and lead to the outcome that
 * it claims. `visit` sees every position that has a legal move played from it.
 */
export function faultOfGame(
  game: Game,
  record: GameRecord,
  state: State,
  visit?: (state: State, move: number) => void,
): string | undefined {
  game.reset(state);
  for (const move of record.moves) {
    if (isOver(state) || !game.isLegal(state, move)) return `has the illegal move ${move}`;
    visit?.(state, move);
    game.play(state, move);
  }
  if (!isOver(state)) return "is not finished";
  if (state[OUTCOME]! === record.outcome) return undefined;
  return `claims outcome ${record.outcome}, its moves say ${state[OUTCOME]}`;
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
export function decodeUnplayedGames(bytes: Uint8Array): GamesFile {
  const file = decodeFile(bytes, KIND, VERSION);
  const { config_key: configKey, origin = {} } = file.about;
  if (typeof configKey !== "string") throw corrupt("The file does not say which game it holds.");
  const count = file.columns.find(({ name }) => name === "seeds")?.shape[0] ?? 0;
  const seeds = columnOf(file.columns, "seeds", Uint32Array, [count]);
  const outcomes = columnOf(file.columns, "outcomes", Uint8Array, [count]);
  const lengths = columnOf(file.columns, "lengths", Uint16Array, [count]);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const moves = columnOf(file.columns, "moves", Uint8Array, [total]);
  let at = 0;
  const games = Array.from(lengths, (length, i) => {
    const record = { seed: seeds[i]!, outcome: outcomes[i]!, moves: moves.slice(at, at + length) };
    at += length;
    return record;
  });
  return { configKey, games, origin };
}

import type { Json } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import { type Game, isOver, OUTCOME } from "../games/game.ts";
import type { GameRecord } from "../loop/self-play.ts";
import { columnOf, decodeFile, type EncodedFile, encodeFile } from "./container.ts";
import { fileFault } from "./errors.ts";

const KIND = "games";
const VERSION = 1;

export interface GamesFile {
  readonly configKey: string;
  readonly games: readonly GameRecord[];
  readonly hash: string;
  readonly origin: Json;
}

export function encodeGames(configKey: string, games: readonly GameRecord[], origin: Json = {}): EncodedFile {
  const moves = new Uint8Array(games.reduce((sum, game) => sum + game.moves.length, 0));
  let at = 0;
  for (const game of games) {
    moves.set(game.moves, at);
    at += game.moves.length;
  }
  const column = (of: (game: GameRecord) => number) => games.map(of);
  return encodeFile({
    kind: KIND,
    version: VERSION,
    about: { config_key: configKey, origin },
    columns: [
      { name: "seeds", shape: [games.length], data: Uint32Array.from(column(({ seed }) => seed)) },
      { name: "outcomes", shape: [games.length], data: Uint8Array.from(column(({ outcome }) => outcome)) },
      { name: "lengths", shape: [games.length], data: Uint16Array.from(column((game) => game.moves.length)) },
      { name: "moves", shape: [moves.length], data: moves },
    ],
  });
}

/** A game counts only if its moves are legal to the end and lead to the outcome that it claims. */
function replay(game: Game, record: GameRecord, index: number): void {
  const state = game.newState();
  for (const move of record.moves) {
    if (!game.isLegal(state, move))
      throw fileFault("ARENA_FILE_CORRUPT", `Game ${index} has the illegal move ${move}.`);
    game.play(state, move);
  }
  if (!isOver(state)) throw fileFault("ARENA_FILE_CORRUPT", `Game ${index} is not finished.`);
  if (state[OUTCOME]! !== record.outcome)
    throw fileFault(
      "ARENA_FILE_CORRUPT",
      `Game ${index} claims outcome ${record.outcome}, its moves say ${state[OUTCOME]}.`,
    );
}

/** Reads games and plays every one of them through. */
export function decodeGames(bytes: Uint8Array): GamesFile {
  const file = decodeFile(bytes, KIND, VERSION);
  const { config_key: configKey, origin = {} } = file.about;
  if (typeof configKey !== "string")
    throw fileFault("ARENA_FILE_CORRUPT", "The file does not say which game it holds.");
  const game = createGame(configKey);
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
    replay(game, record, i);
    return record;
  });
  return { configKey, games, hash: file.hash, origin };
}

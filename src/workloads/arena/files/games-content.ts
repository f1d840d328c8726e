/** Games as their file has them, for whoever has read the file. */
import type { Json } from "../../../kernel/index.ts";
import { type Game, isOver, OUTCOME, type State } from "../games/game.ts";
import type { GameRecord } from "../play/self-play.ts";
import { corrupt } from "./errors.ts";
import { columnOf, type FileContent } from "./frame.ts";

export const GAMES = { kind: "games", version: 1 } as const;

export interface GamesFile {
  readonly configKey: string;
  readonly games: readonly GameRecord[];
  readonly origin: Json;
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

/** The games of a file, which nobody has played: what they claim may be wrong. */
export function gamesIn(file: FileContent): GamesFile {
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

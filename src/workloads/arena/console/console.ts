/** What a person at a terminal may ask of the arena. The composition root hands this to the commands. */
import { defined, OperatingError } from "../../../kernel/index.ts";
import { BASELINES, createBaseline } from "../baselines/catalog.ts";
import { decodeGames } from "../files/games-file.ts";
import { decodeModel, describedModel } from "../files/model-file.ts";
import { isArenaFile, readWithin } from "../files/store.ts";
import { CONFIG_KEYS, createGame, DEFAULT_CONFIG_KEY } from "../games/catalog.ts";
import type { Game } from "../games/game.ts";
import { perft } from "../games/perft.ts";
import { layoutOf, shapeOf } from "../net/layout.ts";
import type { GameRecord } from "../play/self-play.ts";
import { DEFAULT_SEARCH } from "../search/puct.ts";
import { searchPlayer } from "../search/search-player.ts";
import { openTable, type Table } from "./table.ts";

export interface TableRequest {
  readonly configKey: string;
  /** The person's seat, from 0. */
  readonly seat: number;
  /** A baseline by name. */
  readonly baseline?: string;
  /** A model file, and how many simulations it may spend on a move. */
  readonly modelPath?: string;
  readonly simulations?: number;
  readonly seed: number;
}

const summaryOf = (game: Game) => ({
  config_key: game.configKey,
  title: game.title,
  players: game.players,
  board: `${game.columns}x${game.rows}`,
  moves: game.moves,
  is_default: game.configKey === DEFAULT_CONFIG_KEY,
});

/** A played game for people and other programs; players count from 1. */
const recordOf = (game: Game, { seed, outcome, moves }: GameRecord) => ({
  config_key: game.configKey,
  seed,
  /** Null for a draw. */
  winner: outcome < game.players ? outcome + 1 : null,
  moves: Array.from(moves, (move) => game.formatMove(move)),
});

export function createArenaConsole() {
  return {
    baselines: BASELINES,
    defaultConfigKey: DEFAULT_CONFIG_KEY,
    list: () => CONFIG_KEYS.map((key) => summaryOf(createGame(key))),

    show(configKey: string) {
      const game = createGame(configKey);
      const state = game.newState();
      const moves = new Int32Array(game.moves);
      const layout = layoutOf(shapeOf(game));
      return {
        ...summaryOf(game),
        rules: game.rules,
        most_plies: game.maxPlies,
        symmetries: game.symmetries.map(({ name }) => name),
        example_moves: Array.from(moves.subarray(0, Math.min(8, game.legalMoves(state, moves))), (m) =>
          game.formatMove(m),
        ),
        network_inputs: layout.inputs,
        network_weights: layout.length,
        drawing: game.draw(state),
      };
    },

    /** What a reader in any language must know to run a model of ours; nothing is known of another workload's. */
    async aboutModel(path: string) {
      if (!(await isArenaFile(path))) return { rules: null, network: null };
      const { configKey, network } = describedModel(await readWithin(path));
      if (!CONFIG_KEYS.includes(configKey)) return { rules: null, network };
      const game = createGame(configKey);
      const { is_default: _, ...summary } = summaryOf(game);
      return { rules: { ...summary, text: game.rules }, network };
    },

    perft: (configKey: string, depth: number) => perft(createGame(configKey), depth),

    /** The games of a file, in the notation of the game. */
    records(bytes: Uint8Array) {
      const { configKey, games } = decodeGames(bytes);
      const game = createGame(configKey);
      return games.map((record) => recordOf(game, record));
    },

    /** One game of a file, played through to its end. */
    replay(bytes: Uint8Array, index: number) {
      const { configKey, games } = decodeGames(bytes);
      const record = games[index];
      if (record === undefined)
        throw OperatingError.notFound("RECORD_NOT_FOUND", `The file holds games 0 to ${games.length - 1}.`);
      const game = createGame(configKey);
      const state = game.newState();
      for (const move of record.moves) game.play(state, move);
      const told = recordOf(game, record);
      const result = told.winner === null ? "a draw" : `player ${told.winner} won`;
      return { ...told, result: `${result} after ${record.moves.length} moves`, drawing: game.draw(state) };
    },

    async open({ configKey, seat, baseline, modelPath, simulations, seed }: TableRequest): Promise<Table> {
      const game = createGame(configKey);
      if (!Number.isInteger(seat) || seat < 0 || seat >= game.players)
        throw OperatingError.invalid("INVALID_SEAT", `${game.title} has seats 1 to ${game.players}.`);
      let opponent = () => createBaseline(baseline ?? "mcts-1000", game);
      if (modelPath !== undefined) {
        const { network, hash } = decodeModel(await readWithin(modelPath), game);
        const search = { ...DEFAULT_SEARCH, ...defined({ simulations }) };
        opponent = () => searchPlayer(`model ${hash.slice(0, 12)}`, game, network, search);
      }
      return openTable(game, seat, Array.from({ length: game.players - 1 }, opponent), seed);
    },
  };
}

export type ArenaConsole = ReturnType<typeof createArenaConsole>;

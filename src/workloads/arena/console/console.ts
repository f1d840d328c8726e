/** What a person at a terminal may ask of the arena. The composition root hands this to the commands. */
import { OperatingError } from "../../../kernel/index.ts";
import { BASELINES, createBaseline } from "../baselines/catalog.ts";
import { decodeModel } from "../files/model-file.ts";
import { readWithin } from "../files/store.ts";
import { CONFIG_KEYS, createGame, DEFAULT_CONFIG_KEY } from "../games/catalog.ts";
import type { Game } from "../games/game.ts";
import { perft } from "../games/perft.ts";
import { layoutOf, shapeOf } from "../net/layout.ts";
import { DEFAULT_SEARCH } from "../search/puct.ts";
import { searchPlayer } from "../search/search-player.ts";
import { openTable, type Table } from "./table.ts";

export interface GameSummary {
  readonly config_key: string;
  readonly title: string;
  readonly players: number;
  readonly board: string;
  readonly moves: number;
  readonly is_default: boolean;
}

export interface GameDetails extends GameSummary {
  readonly rules: string;
  readonly most_plies: number;
  readonly symmetries: readonly string[];
  readonly example_moves: readonly string[];
  readonly network_inputs: number;
  readonly network_weights: number;
  readonly drawing: string;
}

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

export interface ArenaConsole {
  readonly baselines: readonly string[];
  readonly defaultConfigKey: string;
  list(): GameSummary[];
  show(configKey: string): GameDetails;
  perft(configKey: string, depth: number): number;
  open(request: TableRequest): Promise<Table>;
}

const summaryOf = (game: Game): GameSummary => ({
  config_key: game.configKey,
  title: game.title,
  players: game.players,
  board: `${game.columns}x${game.rows}`,
  moves: game.moves,
  is_default: game.configKey === DEFAULT_CONFIG_KEY,
});

export function createArenaConsole(): ArenaConsole {
  return {
    baselines: BASELINES,
    defaultConfigKey: DEFAULT_CONFIG_KEY,
    list: () => CONFIG_KEYS.map((key) => summaryOf(createGame(key))),

    show(configKey) {
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

    perft: (configKey, depth) => perft(createGame(configKey), depth),

    async open({ configKey, seat, baseline, modelPath, simulations, seed }) {
      const game = createGame(configKey);
      if (!Number.isInteger(seat) || seat < 0 || seat >= game.players)
        throw new OperatingError("INVALID_SEAT", `${game.title} has seats 1 to ${game.players}.`);
      const others = Array.from({ length: game.players - 1 });
      if (modelPath === undefined)
        return openTable(
          game,
          seat,
          others.map(() => createBaseline(baseline ?? "mcts-1000", game)),
          seed,
        );
      const { network, hash } = decodeModel(await readWithin(modelPath), game);
      const search = { ...DEFAULT_SEARCH, simulations: simulations ?? DEFAULT_SEARCH.simulations };
      const name = `model ${hash.slice(0, 12)}`;
      return openTable(
        game,
        seat,
        others.map(() => searchPlayer(name, game, network, search)),
        seed,
      );
    },
  };
}

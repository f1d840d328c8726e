/**
 * How fast the arena is on one core: moves and games of random play, positions of the network at batch 1, training
 * samples, self-play games at 48 simulations, and rows written and read. A second is a second of computing by this thread. Each number is the
 * median of a few windows after a warm-up, and the best window beside it, since other work on the machine, which shares
 * caches and memory, only ever slows a window down.
 */
import { pathToFileURL } from "node:url";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import { isOver } from "../../src/workloads/arena/games/game.ts";
import {
  CONFIG_KEYS,
  createGame,
  DEFAULT_CONFIG_KEY,
  decodeNpz,
  decodeSamples,
  encodeNpz,
  encodeSamples,
  type Game,
} from "../../src/workloads/arena/index.ts";
import { shapeOf } from "../../src/workloads/arena/net/layout.ts";
import { createNetwork } from "../../src/workloads/arena/net/network.ts";
import type { Samples } from "../../src/workloads/arena/net/samples.ts";
import { createTrainer, DEFAULT_TRAINER } from "../../src/workloads/arena/net/trainer.ts";
import { DEFAULT_SELF_PLAY, selfPlay } from "../../src/workloads/arena/play/self-play.ts";
import { networkEvaluator } from "../../src/workloads/arena/search/evaluator.ts";
import { createSearch, DEFAULT_SEARCH } from "../../src/workloads/arena/search/puct.ts";

export interface Rate {
  readonly median: number;
  readonly best: number;
}

export interface ArenaBench {
  readonly config_key: string;
  readonly random_moves_per_second: Rate;
  readonly random_games_per_second: Rate;
  readonly network_positions_per_second: Rate;
  readonly training_samples_per_second: Rate;
  readonly self_play_games_per_second: Rate;
  readonly self_play_simulations: number;
}

/** Rows a second, written to and read from memory, in our own container and as the archive that NumPy reads. */
export interface FilesBench {
  readonly config_key: string;
  readonly rows: number;
  readonly write_arena: Rate;
  readonly write_npz: Rate;
  readonly write_npz_packed: Rate;
  readonly read_arena: Rate;
  readonly read_npz: Rate;
  readonly read_npz_packed: Rate;
}

/** What the first sketch of this learner reached on such a machine, on Othello 6x6. */
const PROTOTYPE = { network_positions_per_second: 28_000, training_samples_per_second: 14_000 };

const SIMULATIONS = 48;

/** The time this thread has really computed: waiting for a core that others use does not count. */
const computedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Calls `work`, which answers how much it did, in windows of `windowMs`; a first window only warms up. */
function rateOf(windows: number, windowMs: number, work: () => number): Rate {
  const rates: number[] = [];
  for (let window = 0; window <= windows; window += 1) {
    const startMs = computedMs();
    let done = 0;
    while (computedMs() - startMs < windowMs) done += work();
    if (window > 0) rates.push((done * 1000) / (computedMs() - startMs));
  }
  rates.sort((a, b) => a - b);
  return { median: Math.round(rates[rates.length >> 1]!), best: Math.round(rates.at(-1)!) };
}

const playRandomly = (game: Game, windows: number, windowMs: number): { moves: Rate; games: Rate } => {
  const state = game.newState();
  const legal = new Int32Array(game.moves);
  const random = seededRandom(1);
  let games = 0;
  let moves = 0;
  const rate = rateOf(windows, windowMs, () => {
    const before = moves;
    for (let i = 0; i < 100; i += 1) {
      game.reset(state);
      while (!isOver(state)) {
        game.play(state, legal[pick(random, game.legalMoves(state, legal))]!);
        moves += 1;
      }
      games += 1;
    }
    return moves - before;
  });
  const perGame = moves / games;
  return { moves: rate, games: { median: Math.round(rate.median / perGame), best: Math.round(rate.best / perGame) } };
};

/** Asks about positions of real games, with no weight at zero: rows come from all over the memory. */
const evaluate = (game: Game, samplePlies: number, windows: number, windowMs: number): Rate => {
  const network = createNetwork(shapeOf(game), seededRandom(1));
  const random = seededRandom(2);
  for (let i = 0; i < network.weights.length; i += 1) network.weights[i]! += (random.next() - 0.5) / 8;
  const evaluator = networkEvaluator(game, network);
  const legal = new Int32Array(game.moves);
  const states: Int32Array[] = [];
  const state = game.newState();
  while (states.length < samplePlies) {
    if (isOver(state)) game.reset(state);
    states.push(state.slice());
    game.play(state, legal[pick(random, game.legalMoves(state, legal))]!);
  }
  const running = states.filter((each) => !isOver(each));
  const priors = new Float32Array(game.moves);
  const values = new Float64Array(game.players);
  return rateOf(windows, windowMs, () => {
    for (const each of running) evaluator.evaluate(each, legal, game.legalMoves(each, legal), priors, 0, values);
    return running.length;
  });
};

const files = (configKey: string, games: number, windows: number, windowMs: number): FilesBench => {
  const game = createGame(configKey);
  const network = createNetwork(shapeOf(game), seededRandom(1));
  const search = createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: 8 });
  const { samples } = selfPlay(
    game,
    search,
    DEFAULT_SELF_PLAY,
    Array.from({ length: games }, (_, seed) => seed),
  );
  const rate = (work: () => unknown): Rate =>
    rateOf(windows, windowMs, () => {
      work();
      return samples.count;
    });
  const [arena, npz, packed] = [encodeSamples(samples), encodeNpz(samples), encodeNpz(samples, {}, true)];
  return {
    config_key: configKey,
    rows: samples.count,
    write_arena: rate(() => encodeSamples(samples)),
    write_npz: rate(() => encodeNpz(samples)),
    write_npz_packed: rate(() => encodeNpz(samples, {}, true)),
    read_arena: rate(() => decodeSamples(arena.bytes)),
    read_npz: rate(() => decodeNpz(npz.bytes)),
    read_npz_packed: rate(() => decodeNpz(packed.bytes)),
  };
};

export const tiny = { windowMs: 5, windows: 1, file_games: 4 };

export async function run(options: { windowMs?: number; windows?: number; file_games?: number } = {}): Promise<{
  readonly prototype: typeof PROTOTYPE;
  readonly games: readonly ArenaBench[];
  readonly files: FilesBench;
}> {
  const { windowMs = 600, windows = 3, file_games = 400 } = options;
  const games = CONFIG_KEYS.map((configKey): ArenaBench => {
    const game = createGame(configKey);
    const randomly = playRandomly(game, windows, windowMs);
    const network = createNetwork(shapeOf(game), seededRandom(1));
    const search = createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: SIMULATIONS });
    let seed = 0;
    let samples: Samples | undefined;
    const selfPlayed = rateOf(windows, windowMs, () => {
      samples = selfPlay(
        game,
        search,
        DEFAULT_SELF_PLAY,
        Array.from({ length: 10 }, () => seed++),
      ).samples;
      return 10;
    });
    const rows = samples!;
    const trainer = createTrainer(network, game.symmetries, DEFAULT_TRAINER);
    const random = seededRandom(3);
    return {
      config_key: configKey,
      random_moves_per_second: randomly.moves,
      random_games_per_second: randomly.games,
      network_positions_per_second: evaluate(game, 2000, windows, windowMs),
      training_samples_per_second: rateOf(windows, windowMs, () => {
        trainer.step(rows, () => pick(random, rows.count), random);
        return DEFAULT_TRAINER.batch;
      }),
      self_play_games_per_second: selfPlayed,
      self_play_simulations: SIMULATIONS,
    };
  });
  return { prototype: PROTOTYPE, games, files: files(DEFAULT_CONFIG_KEY, file_games, windows, windowMs) };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(`${JSON.stringify(await run(), null, 2)}\n`);

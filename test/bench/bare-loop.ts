/**
 * The learning loop with nothing around it, for a given time: how many rounds, games, rows and promotions, and how
 * strong the result is on a ladder of separate games. The yardstick for the coordinated loop.
 */
import { pathToFileURL } from "node:url";
import { createGame, DEFAULT_CONFIG_KEY, DEFAULT_LOOP } from "../../src/workloads/arena/index.ts";
import type { LoopConfig } from "../../src/workloads/arena/play/defaults.ts";
import { bareLoop, type RoundReport } from "../support/bare-loop/bare-loop.ts";
import { createPool } from "../support/bare-loop/pool.ts";
import { sprtGate } from "../support/bare-loop/sprt-gate.ts";
import { type Climb, climb } from "../support/loop-ladder.ts";

export interface BareLoopOptions {
  readonly configKey?: string;
  readonly seconds?: number;
  readonly workers?: number;
  /** Changes to the loop's settings. */
  readonly config?: Partial<LoopConfig>;
  readonly gamesPerRung?: number;
  readonly baselines?: readonly string[];
  readonly onRound?: (report: RoundReport) => void;
}

export interface BareLoopResult extends Climb {
  readonly config_key: string;
  readonly seconds: number;
  readonly workers: number;
  readonly seed: number;
  readonly rounds: number;
  readonly promotions: number;
  readonly games: number;
  readonly rows: number;
  readonly self_play_seconds: number;
  readonly training_seconds: number;
  readonly gate_seconds: number;
}

export const tiny: BareLoopOptions = {
  seconds: 1,
  gamesPerRung: 2,
  baselines: ["mcts-100"],
  config: { gamesPerRound: 20 },
};

export async function run(options: BareLoopOptions = {}): Promise<BareLoopResult> {
  const { configKey = DEFAULT_CONFIG_KEY, seconds = 60, workers = 2, gamesPerRung = 100 } = options;
  const config = { ...DEFAULT_LOOP, ...options.config };
  const game = createGame(configKey);
  const pool = createPool(configKey, workers);
  try {
    const startMs = performance.now();
    const result = await bareLoop(game, config, {
      pool,
      gate: sprtGate(game.players, config.gateBatchBlocks),
      nowMs: () => performance.now(),
      stop: (_rounds, elapsedMs) => elapsedMs >= seconds * 1000,
      ...(options.onRound ? { onRound: options.onRound } : {}),
    });
    const tookMs = performance.now() - startMs;
    const climbed = await climb(game, pool, result.champions, {
      seed: config.seed ^ 0x1b873593,
      gamesPerRung,
      openingPlies: config.gateOpeningPlies,
      search: config.gateSearch,
      baselines: options.baselines ?? ["mcts-100", "mcts-1000", "mcts-5000", "alphabeta-4"],
    });
    const sum = (of: (round: RoundReport) => number) =>
      result.rounds.reduce((total, round) => total + of(round), 0) / 1000;
    return {
      config_key: configKey,
      seconds: tookMs / 1000,
      workers,
      seed: config.seed,
      rounds: result.rounds.length,
      promotions: result.champions.length - 1,
      games: result.games,
      rows: result.rows,
      self_play_seconds: sum(({ selfPlayMs }) => selfPlayMs),
      training_seconds: sum(({ trainMs }) => trainMs),
      gate_seconds: sum(({ gateMs }) => gateMs),
      ...climbed,
    };
  } finally {
    await pool.close();
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [configKey = DEFAULT_CONFIG_KEY, seconds = "60"] = process.argv.slice(2);
  const onRound = (round: RoundReport) =>
    process.stderr.write(
      `${(round.elapsedMs / 1000).toFixed(0)} s, round ${round.round}: ${round.decision} ${round.gateCounts.join(",")}, ${round.promotions} promotions, ${round.rows} rows\n`,
    );
  process.stdout.write(`${JSON.stringify(await run({ configKey, seconds: Number(seconds), onRound }), null, 2)}\n`);
}

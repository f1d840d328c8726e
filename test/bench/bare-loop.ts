/**
 * The learning loop with nothing around it, for a given time: how many rounds, games, rows and promotions, and how
 * strong the result is on a ladder of separate games. The yardstick for the coordinated loop.
 */
import { pathToFileURL } from "node:url";
import { bradleyTerry, type Match, plackettLuce } from "../../src/pipeline/evaluation/statistics/index.ts";
import {
  bareLoop,
  createGame,
  createPool,
  DEFAULT_CONFIG_KEY,
  DEFAULT_LOOP,
  type LadderMatch,
  type LoopConfig,
  playLadder,
  type RoundReport,
  sprtGate,
} from "../../src/workloads/arena/index.ts";

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

export interface BareLoopResult {
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
  /** Of the last champion over the first network, by the ladder, with the ends of a 95 % interval. */
  readonly elo_gain: { readonly estimate: number; readonly low: number; readonly high: number };
  readonly ratings: readonly {
    readonly player: string;
    readonly elo: number;
    readonly error: number;
    readonly games: number;
  }[];
  readonly matches: readonly LadderMatch[];
}

/**
 * The ledger of a ladder as matches of the statistics. With more than two players the opponent sits several times, and a
 * match names nobody twice: its copies are rated apart, and share its wins.
 */
const ledgerOf = (matches: readonly LadderMatch[], seats: number): Match[] =>
  matches.flatMap(({ candidate, opponent, wins, draws, losses }) => {
    const opponents = Array.from({ length: seats - 1 }, (_, i) => (i === 0 ? opponent : `${opponent} (${i + 1})`));
    const line = (winner: string | null, games: number): Match[] =>
      games === 0 ? [] : [{ players: [candidate, ...opponents], winner, games }];
    const shareOf = (i: number) =>
      Math.floor(((i + 1) * losses) / (seats - 1)) - Math.floor((i * losses) / (seats - 1));
    return [...line(candidate, wins), ...line(null, draws), ...opponents.flatMap((name, i) => line(name, shareOf(i)))];
  });

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
    const matches = await playLadder(game, pool, result.champions, {
      seed: config.seed ^ 0x1b873593,
      gamesPerRung,
      openingPlies: config.gateOpeningPlies,
      search: config.gateSearch,
      baselines: options.baselines ?? ["mcts-100", "mcts-1000", "mcts-5000", "alphabeta-4"],
    });
    const rate = game.players === 2 ? bradleyTerry : plackettLuce;
    const { ratings } = rate(ledgerOf(matches, game.players), { zero: "champion-0" });
    const last = ratings.find(({ player }) => player === `champion-${result.champions.length - 1}`)!;
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
      elo_gain: last.elo,
      ratings: ratings.map(({ player, elo, standardError, games }) => ({
        player,
        elo: Math.round(elo.estimate),
        error: Math.round(standardError),
        games,
      })),
      matches,
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

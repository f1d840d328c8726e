/**
 * A short run of the bare loop with three players must beat two players of plain MCTS 100 more often than chance: at
 * 200 simulations a move it must, at 48 (about the time that MCTS 100 takes) the score is reported.
 */
import { pathToFileURL } from "node:url";
import { assert } from "../../src/kernel/index.ts";
import { createGame, DEFAULT_LOOP } from "../../src/workloads/arena/index.ts";
import type { Tally } from "../../src/workloads/arena/play/match.ts";
import { bareLoop, playMatch } from "../support/bare-loop/bare-loop.ts";
import { specOf } from "../support/bare-loop/players.ts";
import { createPool } from "../support/bare-loop/pool.ts";
import { sprtGate } from "../support/bare-loop/sprt-gate.ts";

export interface ScoreAgainstTwo {
  readonly simulations: number;
  readonly games: number;
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
  /** The candidate's mean score of a game, and its error. */
  readonly score: number;
  readonly standard_error: number;
}

export interface ThreePlayersResult {
  readonly config_key: string;
  readonly rounds: number;
  readonly promotions: number;
  readonly chance: number;
  readonly scores: readonly ScoreAgainstTwo[];
}

/** Blocks are independent, games of one block are not: the error is that of the mean over blocks. */
function scoreOf(tally: Tally, simulations: number): ScoreAgainstTwo {
  const top = tally.counts.length - 1;
  const squares = tally.counts.reduce(
    (sum, n, cell) => sum + n * (cell / top - tally.score) * (cell / top - tally.score),
    0,
  );
  const { games, wins, draws, losses, score, blocks } = tally;
  return { simulations, games, wins, draws, losses, score, standard_error: Math.sqrt(squares / (blocks - 1) / blocks) };
}

export interface ThreePlayersOptions {
  readonly seconds?: number;
  readonly blocks?: number;
  readonly gamesPerRound?: number;
  /** Numbers without a verdict. */
  readonly only_measure?: boolean;
}
export const tiny: ThreePlayersOptions = { seconds: 1, blocks: 2, gamesPerRound: 20, only_measure: true };

export async function run(options: ThreePlayersOptions = {}): Promise<ThreePlayersResult> {
  const { seconds = 180, blocks = 120, gamesPerRound = DEFAULT_LOOP.gamesPerRound, only_measure = false } = options;
  const game = createGame("connect4_8x7_3p");
  const pool = createPool(game.configKey, 2);
  try {
    const { rounds, champions } = await bareLoop(
      game,
      { ...DEFAULT_LOOP, gamesPerRound },
      {
        pool,
        gate: sprtGate(game.players, DEFAULT_LOOP.gateBatchBlocks),
        nowMs: () => performance.now(),
        stop: (_rounds, elapsedMs) => elapsedMs >= seconds * 1000,
      },
    );
    const scores: ScoreAgainstTwo[] = [];
    for (const simulations of [48, 200]) {
      const search = { ...DEFAULT_LOOP.gateSearch, simulations };
      const candidate = { kind: "network", name: "champion", search, ...specOf(champions.at(-1)!) } as const;
      const { tally } = await playMatch(
        game,
        pool,
        candidate,
        { kind: "baseline", name: "mcts-100" },
        {
          seed: 77,
          batchBlocks: blocks,
          openingPlies: DEFAULT_LOOP.gateOpeningPlies,
          decide: () => "inconclusive",
        },
      );
      scores.push(scoreOf(tally, simulations));
    }
    const chance = 1 / game.players;
    const { score, standard_error } = scores.at(-1)!;
    assert(
      only_measure || score > chance + 2 * standard_error,
      `a score of ${score.toFixed(3)} +- ${standard_error.toFixed(3)} is not clearly above ${chance.toFixed(3)}`,
    );
    return { config_key: game.configKey, rounds: rounds.length, promotions: champions.length - 1, chance, scores };
  } finally {
    await pool.close();
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(`${JSON.stringify(await run(), null, 2)}\n`);

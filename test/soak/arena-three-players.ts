/** A short run of the bare loop with three players must beat two players of plain MCTS 100 more often than chance. */
import { pathToFileURL } from "node:url";
import { assert } from "../../src/kernel/index.ts";
import {
  bareLoop,
  createGame,
  createPool,
  DEFAULT_LOOP,
  playMatch,
  specOf,
  sprtGate,
} from "../../src/workloads/arena/index.ts";

export interface ThreePlayersResult {
  readonly config_key: string;
  readonly rounds: number;
  readonly promotions: number;
  readonly games: number;
  /** The candidate's mean score of a game; chance is one third. */
  readonly score: number;
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
  readonly chance: number;
  readonly standard_error: number;
}

export async function run(options: { seconds?: number; blocks?: number } = {}): Promise<ThreePlayersResult> {
  const { seconds = 90, blocks = 100 } = options;
  const game = createGame("connect4_8x7_3p");
  const pool = createPool(game.configKey, 2);
  try {
    const { rounds, champions } = await bareLoop(game, DEFAULT_LOOP, {
      pool,
      gate: sprtGate(game.players, DEFAULT_LOOP.gateBatchBlocks),
      nowMs: () => performance.now(),
      stop: (_rounds, elapsedMs) => elapsedMs >= seconds * 1000,
    });
    const candidate = {
      kind: "network",
      name: "champion",
      search: DEFAULT_LOOP.gateSearch,
      ...specOf(champions.at(-1)!),
    } as const;
    const scores: number[] = [];
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
    for (const [cell, count] of tally.counts.entries())
      for (let i = 0; i < count; i += 1) scores.push(cell / (tally.counts.length - 1));
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    const variance = scores.reduce((sum, score) => sum + (score - mean) * (score - mean), 0) / (scores.length - 1);
    const result = {
      config_key: game.configKey,
      rounds: rounds.length,
      promotions: champions.length - 1,
      games: tally.games,
      score: tally.score,
      wins: tally.wins,
      draws: tally.draws,
      losses: tally.losses,
      chance: 1 / game.players,
      standard_error: Math.sqrt(variance / scores.length),
    };
    // Blocks are independent, games of one block are not: the error is that of the mean over blocks.
    assert(
      result.score > result.chance + 2 * result.standard_error,
      `a score of ${result.score.toFixed(3)} +- ${result.standard_error.toFixed(3)} is not clearly above ${result.chance.toFixed(3)}`,
    );
    return result;
  } finally {
    await pool.close();
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(`${JSON.stringify(await run(), null, 2)}\n`);

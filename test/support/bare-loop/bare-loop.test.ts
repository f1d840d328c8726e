import { afterEach, describe, expect, it, vi } from "vitest";
import { createGame } from "../../../src/workloads/arena/games/catalog.ts";
import { DEFAULT_LOOP, type LoopConfig } from "../../../src/workloads/arena/play/defaults.ts";
import { bareLoop, type Gate, playMatch } from "./bare-loop.ts";
import { specOf } from "./players.ts";
import { createPool, type Pool } from "./pool.ts";
import { sharedCopy } from "./tasks.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

const pools: Pool[] = [];
const poolOf = (configKey: string, workers: number) => {
  const pool = createPool(configKey, workers);
  pools.push(pool);
  return pool;
};
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

const small: LoopConfig = {
  ...DEFAULT_LOOP,
  wide: 16,
  narrow: 8,
  gamesPerRound: 24,
  search: { ...DEFAULT_LOOP.search, simulations: 12 },
  gateSearch: { ...DEFAULT_LOOP.gateSearch, simulations: 12 },
  gateBatchBlocks: 6,
};

const half: Gate = (counts) => {
  const blocks = counts.reduce((sum, n) => sum + n, 0);
  if (blocks < 12) return "continue";
  return counts.reduce((sum, n, cell) => sum + n * cell, 0) > 2 * blocks ? "promote" : "reject";
};

const run = async (workers: number, rounds: number, configKey = "connect4_7x6_2p", changes: Partial<LoopConfig> = {}) =>
  bareLoop(
    createGame(configKey),
    { ...small, ...changes },
    {
      pool: poolOf(configKey, workers),
      gate: half,
      nowMs: () => 0,
      stop: (done) => done === rounds,
    },
  );

describe("the bare loop", () => {
  it("gives the same networks with one worker as with three", async () => {
    const [one, three] = await Promise.all([run(1, 3), run(3, 3)]);
    expect(one.rounds).toEqual(three.rounds);
    expect(one.champions.map(({ weights }) => weights)).toEqual(three.champions.map(({ weights }) => weights));
    expect(one.rows).toBeGreaterThan(500);
  });

  it("promotes what beats the champion, keeps every champion, and gets stronger", async () => {
    const { champions, rounds } = await run(2, 4, "othello6_2p", { gamesPerRound: 100 });
    expect(champions.length - 1).toBe(rounds.filter(({ decision }) => decision === "promote").length);
    expect(champions.length).toBeGreaterThan(1);
    const game = createGame("othello6_2p");
    const spec = (index: number) => ({
      kind: "network" as const,
      name: String(index),
      search: small.gateSearch,
      ...specOf(sharedCopy(champions.at(index)!)),
    });
    const { tally } = await playMatch(game, poolOf(game.configKey, 2), spec(-1), spec(0), {
      seed: 4,
      batchBlocks: 20,
      openingPlies: 2,
      decide: () => "promote",
    });
    expect(tally.score).toBeGreaterThan(0.6);
  });

  it("runs with more than two players", async () => {
    const { rounds } = await run(2, 1, "connect4_8x7_3p");
    expect(rounds[0]!.gateCounts).toHaveLength(10);
    expect(rounds[0]!.policyLoss).toBeGreaterThan(0);
  });
});

describe("the pool of workers", () => {
  const task = { kind: "match", openingPlies: 2, seeds: [1], opponent: { kind: "baseline", name: "random" } } as const;

  it("reports a task that fails and goes on with the next", async () => {
    const pool = poolOf("connect4_7x6_2p", 1);
    await expect(pool.match({ ...task, candidate: { kind: "baseline", name: "nobody" } })).rejects.toMatchObject({
      code: "ARENA_TASK_FAILED",
    });
    expect(await pool.match({ ...task, candidate: { kind: "baseline", name: "random" } })).toHaveLength(1);
  });

  it("fails what is waiting when it is closed, takes nothing more, and closes twice safely", async () => {
    const pool = poolOf("connect4_7x6_2p", 1);
    const candidate = { kind: "baseline", name: "mcts-5000" } as const;
    const waiting = [pool.match({ ...task, candidate }), pool.match({ ...task, candidate })];
    const ends = Promise.allSettled(waiting);
    await pool.close();
    await pool.close();
    for (const end of await ends)
      expect(end).toMatchObject({ status: "rejected", reason: { code: "ARENA_WORKER_LOST" } });
    await expect(pool.match({ ...task, candidate })).rejects.toMatchObject({ code: "ARENA_WORKER_LOST" });
  });
});

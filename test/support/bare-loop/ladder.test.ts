import { describe, expect, it, vi } from "vitest";
import { seededRandom } from "../../../src/kernel/index.ts";
import { createGame } from "../../../src/workloads/arena/games/catalog.ts";
import { shapeOf } from "../../../src/workloads/arena/net/layout.ts";
import { createNetwork } from "../../../src/workloads/arena/net/network.ts";
import { DEFAULT_SEARCH } from "../../../src/workloads/arena/search/puct.ts";
import { playLadder, rungsOf } from "./ladder.ts";
import { createPool } from "./pool.ts";
import { sharedCopy } from "./tasks.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

describe("the rungs of a ladder", () => {
  it("are all champions when there are few, and dense at the start when there are many", () => {
    expect(rungsOf(1)).toEqual([0]);
    expect(rungsOf(4)).toEqual([0, 1, 2, 3]);
    for (const champions of [10, 18, 40, 200]) {
      const rungs = rungsOf(champions);
      expect(rungs).toEqual([...new Set(rungs)].sort((a, b) => a - b));
      expect([rungs[0], rungs[1], rungs.at(-1)]).toEqual([0, Math.max(1, rungs[1]!), champions - 1]);
      expect(rungs.length).toBe(9);
      expect(rungs[1]! - rungs[0]!).toBeLessThanOrEqual(rungs[8]! - rungs[7]!);
    }
  });
});

describe("a ladder", () => {
  it("lets neighbours meet, and the last meet the baselines, in whole blocks", async () => {
    const game = createGame("connect4_8x7_3p");
    const champions = [1, 2, 3].map((seed) => sharedCopy(createNetwork(shapeOf(game, 8, 8), seededRandom(seed))));
    const pool = createPool(game.configKey, 2);
    try {
      const matches = await playLadder(game, pool, champions, {
        seed: 1,
        gamesPerRung: 10,
        openingPlies: 3,
        search: { ...DEFAULT_SEARCH, simulations: 8 },
        baselines: ["random"],
      });
      expect(matches.map(({ candidate, opponent }) => `${candidate} ${opponent}`)).toEqual([
        "champion-1 champion-0",
        "champion-2 champion-1",
        "champion-2 champion-0",
        "champion-2 random",
      ]);
      for (const { wins, draws, losses } of matches) expect(wins + draws + losses).toBe(12);
    } finally {
      await pool.close();
    }
  });
});

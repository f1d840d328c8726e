/**
 * Rating games, apart from all gates: chosen champions of a run against their neighbours on the ladder and against
 * the baselines, from openings that no gate used. The results are counts; what they mean is for statistics to say.
 */
import type { Game } from "../../../src/workloads/arena/games/game.ts";
import type { Network } from "../../../src/workloads/arena/net/network.ts";
import { mixSeed } from "../../../src/workloads/arena/numerics/samplers.ts";
import type { SearchConfig } from "../../../src/workloads/arena/search/puct.ts";
import { playMatch } from "./bare-loop.ts";
import { type PlayerSpec, specOf } from "./players.ts";
import type { Pool } from "./pool.ts";

export interface LadderMatch {
  readonly candidate: string;
  readonly opponent: string;
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
  readonly redundancy: number;
}

export interface LadderPlan {
  readonly seed: number;
  /** At least this many games for each pair that meets, rounded up to whole blocks. */
  readonly gamesPerRung: number;
  readonly openingPlies: number;
  readonly search: SearchConfig;
  readonly baselines: readonly string[];
}

/** Dense at the start, where strength jumps, and always with the first and the last. */
export function rungsOf(champions: number, most = 9): number[] {
  if (champions <= most) return Array.from({ length: champions }, (_, i) => i);
  const picks = Array.from({ length: most }, (_, i) => {
    const share = i / (most - 1);
    return Math.max(i, Math.round((champions - 1) * share * share));
  });
  return [...new Set(picks)];
}

/** Champions are named `champion-0`, `champion-1` and so on, by their place among all champions of the run. */
export async function playLadder(
  game: Game,
  pool: Pool,
  champions: readonly Network[],
  plan: LadderPlan,
): Promise<LadderMatch[]> {
  const rungs = rungsOf(champions.length);
  const spec = (rung: number): PlayerSpec => ({
    kind: "network",
    name: `champion-${rungs[rung]}`,
    search: plan.search,
    ...specOf(champions[rungs[rung]!]!),
  });
  const pairs: [PlayerSpec, PlayerSpec][] = [];
  for (let i = 1; i < rungs.length; i += 1) {
    pairs.push([spec(i), spec(i - 1)]);
    if (i >= 2) pairs.push([spec(i), spec(i - 2)]);
  }
  for (const name of plan.baselines) pairs.push([spec(rungs.length - 1), { kind: "baseline", name }]);
  const matches: LadderMatch[] = [];
  for (const [index, [candidate, opponent]] of pairs.entries()) {
    const { tally } = await playMatch(game, pool, candidate, opponent, {
      seed: mixSeed(plan.seed, index),
      batchBlocks: Math.ceil(plan.gamesPerRung / game.players),
      openingPlies: plan.openingPlies,
      decide: () => "inconclusive",
    });
    matches.push({
      candidate: candidate.name,
      opponent: opponent.name,
      wins: tally.wins,
      draws: tally.draws,
      losses: tally.losses,
      redundancy: tally.redundancy,
    });
  }
  return matches;
}

/**
 * What the gate promises, measured finely: the chance to promote an equal candidate and one of +50 Elo, for two to four
 * players, with and without draws and seats that matter; and whether the Elo after stopping is as often too high as too
 * low and its interval covers. The unit tests ask the same of fewer gates.
 */
import { pathToFileURL } from "node:url";
import { seededRandom } from "../../src/kernel/index.ts";
import { eloOfScore } from "../../src/pipeline/statistics/elo.ts";
import {
  type BlockShape,
  drawBlocks,
  type EloModel,
  eloAfterStopping,
  winBlocks,
} from "../../src/pipeline/statistics/index.ts";
import { simulateBlocks, simulateGate } from "../../src/pipeline/statistics/simulated-blocks.ts";
import { gatePlan } from "../support/gate-plan.ts";

export const about = "error rates of the promotion gate and coverage of its Elo, over many simulated gates";

interface Study {
  readonly players: number;
  readonly model: EloModel;
  readonly draw_share: number;
  readonly seat_elo: number;
  /** The Elo of the candidate's true score, draws and seats counted in. */
  readonly elo: number;
  readonly gates: number;
  readonly promote_share: number;
  readonly inconclusive_share: number;
  readonly mean_games: number;
  /** How often the Elo after stopping lies below the truth: a half. */
  readonly below_share: number;
  readonly cover_share: number;
}

interface Result {
  readonly ok: boolean;
  readonly studies: readonly Study[];
  readonly broken: readonly string[];
}

interface Case {
  readonly blocks: BlockShape;
  readonly model: EloModel;
  readonly drawShare: number;
  readonly seatElo: number;
  readonly elo: number;
}

const cases = (): Case[] => {
  const list: Case[] = [];
  for (const model of ["normalized", "logistic"] as const)
    for (const elo of [0, 50]) {
      for (const blocks of [drawBlocks(2), winBlocks(3), winBlocks(4)])
        list.push({ blocks, model, drawShare: 0, seatElo: 0, elo });
      for (const players of [2, 3, 4])
        list.push({ blocks: drawBlocks(players), model, drawShare: 0.4, seatElo: 200, elo });
    }
  return list;
};

/** The Elo of the true mean score: given where nothing blurs it, by level of players where equal, else by many blocks. */
function trueElo({ blocks, drawShare, seatElo, elo }: Case, count: number): number {
  if (elo === 0 || (drawShare === 0 && seatElo === 0)) return elo;
  const counts = simulateBlocks({ blocks, elo, drawShare, seatElo }, count, seededRandom(99));
  const score = counts.reduce((sum, blocksInCell, cell) => sum + blocksInCell * blocks.scores[cell]!, 0) / count;
  return eloOfScore(score, blocks.players);
}

function study(one: Case, gates: number, truthBlocks: number, seed: number): Study {
  const plan = { ...gatePlan(), model: one.model };
  const truth = trueElo(one, truthBlocks);
  const random = seededRandom(seed);
  const sum = { promote: 0, reject: 0, inconclusive: 0, continue: 0, blocks: 0, below: 0, covered: 0 };
  for (let gate = 0; gate < gates; gate += 1) {
    const { decision, counts, blocks } = simulateGate(one, plan, random);
    const { elo } = eloAfterStopping(counts, one.blocks, plan);
    sum[decision] += 1;
    sum.blocks += blocks;
    if (elo.estimate < truth) sum.below += 1;
    if (elo.low <= truth && truth <= elo.high) sum.covered += 1;
  }
  return {
    players: one.blocks.players,
    model: one.model,
    draw_share: one.drawShare,
    seat_elo: one.seatElo,
    elo: truth,
    gates,
    promote_share: sum.promote / gates,
    inconclusive_share: sum.inconclusive / gates,
    mean_games: (sum.blocks * one.blocks.gamesPerBlock) / gates,
    below_share: sum.below / gates,
    cover_share: sum.covered / gates,
  };
}

const complaintsAbout = (s: Study): string[] => {
  const name = `${s.players} players, ${s.model}, draws ${s.draw_share}, ${s.elo.toFixed(0)} Elo`;
  const complaints: string[] = [];
  const expect = (holds: boolean, text: string) => {
    if (!holds) complaints.push(`${name}: ${text}`);
  };
  if (s.elo === 0) expect(s.promote_share <= 0.06, `promoted ${s.promote_share}, at most 0.06 are allowed`);
  if (s.elo === 50) expect(s.promote_share >= 0.9, `promoted ${s.promote_share}, at least 0.9 are wanted`);
  expect(Math.abs(s.below_share - 0.5) <= 0.04, `the Elo after stopping lies below the truth in ${s.below_share}`);
  expect(s.cover_share >= 0.93 && s.cover_share <= 0.975, `the interval covers ${s.cover_share}`);
  return complaints;
};

export interface StatisticsOptions {
  readonly gates?: number;
  /** Blocks from which the truth is read where nothing gives it. */
  readonly truth_blocks?: number;
  readonly seed?: number;
  /** Numbers without a verdict. */
  readonly only_measure?: boolean;
}
export const tiny: StatisticsOptions = { gates: 3, truth_blocks: 2_000, only_measure: true };

export function run(options: StatisticsOptions = {}): Result {
  const { gates = 10_000, truth_blocks = 2_000_000, seed = 1, only_measure = false } = options;
  const studies = cases().map((one) => study(one, gates, truth_blocks, seed));
  const broken = only_measure ? [] : studies.flatMap(complaintsAbout);
  return { ok: broken.length === 0, studies, broken };
}

export function print({ studies, broken }: Result): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`.padStart(9);
  const lines = studies.map((s) =>
    [
      String(s.players).padStart(7),
      s.model.padStart(11),
      percent(s.draw_share),
      s.elo.toFixed(1).padStart(6),
      percent(s.promote_share),
      percent(s.inconclusive_share),
      s.mean_games.toFixed(0).padStart(6),
      percent(s.below_share),
      percent(s.cover_share),
    ].join(" "),
  );
  return ["PLAYERS       MODEL     DRAWS    ELO   PROMOTE  NO VERD.  GAMES TOO LOW   COVERS", ...lines, ...broken].join(
    "\n",
  );
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const result = run();
  process.stdout.write(`${print(result)}\n`);
  process.exitCode = result.ok ? 0 : 1;
}

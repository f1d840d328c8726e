/**
 * Five minutes of `ringrift train` on the default game: the first promotion within 30 seconds of the loop's start, at least
 * ten promotions, and a last champion at least 500 Elo over the first, on a ladder of separate games with 200 a rung.
 */
import { loadavg } from "node:os";
import { join } from "node:path";
import { assert } from "../../src/kernel/index.ts";
import { championHistory } from "../../src/pipeline/models/index.ts";
import { stageHistory } from "../../src/pipeline/tables.ts";
import { createGame, DEFAULT_LOOP } from "../../src/workloads/arena/index.ts";
import { createPool } from "../support/bare-loop/pool.ts";
import { readFolder } from "../support/loop-kills.ts";
import { championNetworks, climb } from "../support/loop-ladder.ts";
import { patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";

const CONFIG = "othello6_2p";
const LEAST_PROMOTIONS = 10;
const LEAST_ELO = 500;
const FIRST_SECONDS = 30;
const LADDER_SEED = 0x7e57_1adf;

export interface LoopSoakOptions {
  readonly seconds?: number;
  readonly seed?: number;
  readonly workers?: number;
  readonly gamesPerRung?: number;
  /** Numbers without a verdict. */
  readonly only_measure?: boolean;
}

/** Long enough for the first champion, also on a slow machine. */
export const tiny: LoopSoakOptions = { seconds: patience(5_000) / 1_000, gamesPerRung: 2, only_measure: true };

export async function run(options: LoopSoakOptions = {}) {
  const { seconds = 300, seed = 1, workers = 2, gamesPerRung = 200, only_measure = false } = options;
  await using own = owned();
  const folder = own.folder();
  const dataDir = join(folder, ".ringrift");
  const loadBefore = loadavg();
  const flags = ["--headless", "--port", "0", "--workers", String(workers), "--seed", String(seed)];
  const main = own.startCli(["train", CONFIG, "--for", `${seconds}s`, ...flags], { cwd: folder });
  const { code } = await main.exited;
  const loadAfter = loadavg();
  assert(code === 0, `it ended with ${code}: ${main.lines.slice(-20).join("\n")}`);
  const { champions, history, networks } = readFolder(dataDir, (store) => ({
    champions: championHistory(store, CONFIG, 10_000).reverse(),
    history: stageHistory(store, { configKey: CONFIG, limit: 100_000 }),
    networks: championNetworks(dataDir, store, CONFIG),
  }));
  assert(networks.length > 0, `nobody was crowned within ${seconds} s`);
  const begin = Math.min(...history.map(({ since }) => since));
  const gated = champions.filter(({ cause }) => cause === "gate");
  const first = gated[0] === undefined ? Number.POSITIVE_INFINITY : (gated[0].at - begin) / 1_000;
  const pool = createPool(CONFIG, workers);
  try {
    const climbed = await climb(createGame(CONFIG), pool, networks, {
      seed: LADDER_SEED,
      gamesPerRung,
      openingPlies: DEFAULT_LOOP.gateOpeningPlies,
      search: DEFAULT_LOOP.gateSearch,
      baselines: ["mcts-100", "mcts-1000"],
    });
    const result = {
      config_key: CONFIG,
      seconds,
      seed,
      workers,
      load_average: { before: loadBefore[0], after: loadAfter[0] },
      iterations: Math.max(...history.map(({ iteration }) => iteration)),
      first_promotion_seconds: first,
      promotions: gated.length,
      rollbacks: champions.filter(({ cause }) => cause === "rollback").length,
      failed_stages: history.filter(({ state }) => state === "failed").length,
      ...climbed,
    };
    process.stderr.write(`${JSON.stringify({ ...result, matches: undefined, ratings: undefined })}\n`);
    if (only_measure) return result;
    assert(first <= FIRST_SECONDS, `the first promotion came after ${first.toFixed(1)} s`);
    assert(gated.length >= LEAST_PROMOTIONS, `${gated.length} promotions; at least ${LEAST_PROMOTIONS} are wanted`);
    const { estimate } = climbed.elo_gain;
    assert(estimate >= LEAST_ELO, `${estimate.toFixed(0)} Elo over the first; at least ${LEAST_ELO} are wanted`);
    for (const { candidate, opponent, wins, draws, losses } of climbed.matches)
      assert(wins + draws + losses >= 100, `${candidate} and ${opponent} met less than 100 times`);
    return result;
  } finally {
    await pool.close();
  }
}

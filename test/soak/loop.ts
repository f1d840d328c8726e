/**
 * Five minutes of `ringrift train` on the default game: the first promotion within 30 seconds of the loop's start, at least
 * ten promotions, and a last champion at least 500 Elo over the first, on a ladder of separate games with 200 a rung. That is what
 * a machine gives that does nothing else. Beside other programs (`--set beside=2` starts as many that burn a processor each) it owes
 * so much less as they have taken of the processors; but on any machine it ends well, crowns somebody who is stronger than the
 * first, no stage fails, and no minute passes in which nobody has a job.
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
import { burners, processorTime } from "../support/processors.ts";

const CONFIG = "othello6_2p";
const LEAST_PROMOTIONS = 10;
const LEAST_ELO = 500;
const FIRST_SECONDS = 30;
/** Nobody has a job for no longer than this, however busy the machine is. */
const IDLE_SECONDS = 60;
const LADDER_SEED = 0x7e57_1adf;

export interface LoopSoakOptions {
  readonly seconds?: number;
  readonly seed?: number;
  readonly workers?: number;
  readonly gamesPerRung?: number;
  /** Foreign programs beside it, each of which takes a whole processor if it gets it. */
  readonly beside?: number;
  /** Numbers without a verdict. */
  readonly only_measure?: boolean;
}

/** Long enough for the first champion, also on a slow machine. */
export const tiny: LoopSoakOptions = { seconds: patience(5_000) / 1_000, gamesPerRung: 2, only_measure: true };

export async function run(options: LoopSoakOptions = {}) {
  const { seconds = 300, seed = 1, workers = 2, gamesPerRung = 200, beside = 0, only_measure = false } = options;
  await using own = owned();
  const folder = own.folder();
  const dataDir = join(folder, ".ringrift");
  const loadBefore = loadavg();
  const flags = ["--headless", "--port", "0", "--workers", String(workers), "--seed", String(seed)];
  const before = processorTime();
  const burning = burners(own, beside);
  const main = own.startCli(["train", CONFIG, "--for", `${seconds}s`, ...flags], { cwd: folder });
  const { code } = await main.exited;
  const end = Date.now();
  const ownShare = before.shareOfChildren();
  for (const burner of burning) await burner.killNow();
  const loadAfter = loadavg();
  assert(code === 0, `it ended with ${code}: ${main.lines.slice(-20).join("\n")}`);
  const { champions, history, networks, held } = readFolder(dataDir, (store) => ({
    champions: championHistory(store, CONFIG, 10_000).reverse(),
    history: stageHistory(store, { configKey: CONFIG, limit: 100_000 }),
    networks: championNetworks(dataDir, store, CONFIG),
    held: store.read<Held>(HELD),
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
      beside,
      own_share: ownShare,
      idle_seconds: longestIdle(begin, held, end) / 1_000,
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
    assert(result.failed_stages === 0, `${result.failed_stages} stages failed`);
    const { idle_seconds: idle } = result;
    assert(idle <= IDLE_SECONDS, `nobody had a job for ${idle} s`);
    const firstWithin = FIRST_SECONDS / ownShare;
    assert(first <= firstWithin, `the first promotion came after ${first.toFixed(1)} s of ${firstWithin.toFixed(1)}`);
    const least = Math.max(1, Math.floor(LEAST_PROMOTIONS * ownShare));
    assert(gated.length >= least, `${gated.length} promotions; at least ${least} are wanted`);
    const { estimate, low } = climbed.elo_gain;
    const leastElo = LEAST_ELO * ownShare;
    assert(
      estimate >= leastElo,
      `${estimate.toFixed(0)} Elo over the first; at least ${leastElo.toFixed(0)} are wanted`,
    );
    assert(low > 0, `the last champion may be no stronger than the first: from ${low.toFixed(0)} Elo`);
    for (const { candidate, opponent, wins, draws, losses } of climbed.matches)
      assert(wins + draws + losses >= 100, `${candidate} and ${opponent} met less than 100 times`);
    return result;
  } finally {
    await pool.close();
  }
}

interface Held {
  readonly from: number;
  readonly to: number;
}
const HELD = `SELECT claimed_at AS "from", finished_at AS "to" FROM work_jobs
  WHERE claimed_at IS NOT NULL AND finished_at IS NOT NULL ORDER BY claimed_at`;

/** The longest time in which nobody had a job. */
function longestIdle(begin: number, held: readonly Held[], end: number): number {
  let [longest, busyUntil] = [0, begin];
  for (const { from, to } of [...held, { from: end, to: end }]) {
    longest = Math.max(longest, from - busyUntil);
    busyUntil = Math.max(busyUntil, to);
  }
  return longest;
}

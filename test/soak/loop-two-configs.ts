/** Two games side by side in one loop, one of them with three players: each gets clearly better on its own ladder. */
import { loadavg } from "node:os";
import { join } from "node:path";
import { assert } from "../../src/kernel/index.ts";
import { championHistory } from "../../src/pipeline/models/index.ts";
import { createGame, DEFAULT_LOOP } from "../../src/workloads/arena/index.ts";
import { createPool } from "../support/bare-loop/pool.ts";
import { readFolder } from "../support/loop-kills.ts";
import { championNetworks, climb } from "../support/loop-ladder.ts";
import { patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";

const CONFIGS = ["othello6_2p", "connect4_8x7_3p"];
const LADDER_SEED = 0x2b1c_0a11;

export interface TwoConfigsOptions {
  readonly seconds?: number;
  readonly gamesPerRung?: number;
  /** Numbers without a verdict, of a loop that may have promoted nothing. */
  readonly only_measure?: boolean;
}
/** Long enough for the first champions, also on a slow machine. */
export const tiny: TwoConfigsOptions = { seconds: patience(5_000) / 1_000, gamesPerRung: 2, only_measure: true };

export async function run(options: TwoConfigsOptions = {}) {
  const { seconds = 420, gamesPerRung = 150, only_measure = false } = options;
  await using own = owned();
  const folder = own.folder();
  const dataDir = join(folder, ".ringrift");
  const flags = ["--headless", "--port", "0", "--workers", "2", "--for", `${seconds}s`];
  const main = own.startCli(["train", ...CONFIGS, ...flags], { cwd: folder });
  const { code } = await main.exited;
  assert(code === 0, `it ended with ${code}: ${main.lines.slice(-20).join("\n")}`);
  const configs = [];
  for (const key of CONFIGS) {
    const { networks, crowned } = readFolder(dataDir, (store) => ({
      networks: championNetworks(dataDir, store, key),
      crowned: championHistory(store, key, 10_000),
    }));
    assert(networks.length >= (only_measure ? 1 : 2), `${key} has promoted nothing`);
    const pool = createPool(key, 2);
    try {
      const { elo_gain, ratings } = await climb(createGame(key), pool, networks, {
        seed: LADDER_SEED,
        gamesPerRung,
        openingPlies: DEFAULT_LOOP.gateOpeningPlies,
        search: DEFAULT_LOOP.gateSearch,
        baselines: ["mcts-100"],
      });
      const promotions = crowned.filter(({ cause }) => cause === "gate").length;
      configs.push({ config_key: key, promotions, elo_gain, ratings });
    } finally {
      await pool.close();
    }
  }
  for (const { config_key, elo_gain } of configs)
    assert(
      only_measure || elo_gain.low > 0,
      `${config_key} is not clearly better than at first: ${JSON.stringify(elo_gain)}`,
    );
  return { seconds, load_average: loadavg()[0], configs };
}

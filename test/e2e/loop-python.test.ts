/** A workload in another language runs its own config through the whole loop, beside the built-in games. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { stageHistory } from "../../src/pipeline/tables.ts";
import { CONFIG, planned, QUICK, SOUND, soundness, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";

const NIM = "nim21_2p";
const PROGRAM = fileURLToPath(new URL("../../examples/workloads/nim.py", import.meta.url));

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) process.stderr.write("SKIPPED: python3 is missing, its config is not run through the loop\n");

test.skipIf(!hasPython)("the Python example learns its own game beside a built-in one", async () => {
  const own = owned(onTestFinished);
  const configFile = join(own.folder(), "ringrift.config.json");
  const nim = {
    command: "python3",
    args: [PROGRAM],
    kinds: ["selfplay", "training", "evaluation"],
    config_keys: [NIM],
  };
  const plan = {
    seed: 3,
    games_per_iteration: 200,
    games_per_job: 50,
    least_rows: 100,
    gate: { batch_blocks: 20, most_blocks: 200 },
  };
  writeFileSync(configFile, JSON.stringify({ workloads: { nim }, plans: { [NIM]: plan, [CONFIG]: QUICK } }));
  const loop = await startLoop(own, {
    plans: planned({ most_iterations: 1 }, [NIM, CONFIG], configFile),
    slots: 2,
    configFile,
  });
  onTestFinished(loop.end);
  const [python, builtIn] = await Promise.all([loop.complete(NIM), loop.complete(CONFIG)]);
  for (const config of [python, builtIn]) {
    expect(config.gates).toHaveLength(1);
    expect(config.champions.length, config.config_key).toBe(2);
    expect(await soundness(loop, config.config_key)).toEqual(SOUND);
  }
  expect(python.games).toBe(plan.games_per_iteration);
  expect(builtIn.games).toBe(QUICK.games_per_iteration);
  // What its workload cannot do is said, not left out in silence.
  const [sync] = stageHistory(loop.main.router.store, { configKey: NIM, stage: "data_sync" });
  expect(sync!.evidence).toMatchObject({ unchecked_because: expect.stringMatching(/no kind 'validation'/) });
  const [exported] = stageHistory(loop.main.router.store, { configKey: NIM, stage: "npz_export" });
  expect(exported!.evidence).toMatchObject({ exported_by: expect.stringMatching(/no kind 'export'/) });
});

/** One arm with one seed: the real loop in a data folder of its own, until its rounds are done. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, OperatingError, type Random, silentLog, sleep } from "../../../kernel/index.ts";
import { bootstrapCoordination } from "../../bootstrap.ts";
import { plansFor } from "../../pipeline/plans.ts";
import type { SettingOverrides, Settings } from "../../settings.ts";
import { startLocalWorker } from "../../worker/local-worker.ts";
import type { NamedWorkload } from "../../worker/workload-list.ts";
import { readArtifact } from "../folder-artifact.ts";
import type { FinishedRun } from "./book.ts";
import type { Experiment } from "./definition.ts";

export interface ExperimentWorld {
  readonly settings: (given: SettingOverrides) => Settings;
  readonly configFile: string | undefined;
  readonly workloads: readonly NamedWorkload[];
  readonly workers: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 500;

export async function runArm(
  experiment: Experiment,
  arm: string,
  seed: number,
  folder: string,
  modelFile: (champion: string) => string,
  world: ExperimentWorld,
): Promise<FinishedRun> {
  const { config_key, iterations } = experiment;
  const { clock, random, workers, configFile, workloads, signal } = world;
  const dataDir = join(folder, "runs", `${arm}-${seed}`);
  const given = { ...experiment.plan, ...experiment.arms[arm], seed, most_iterations: iterations };
  const plans = plansFor([config_key], given, { configFile, workloads, workers });
  const beganMs = clock.monotonic();
  const main = await bootstrapCoordination({ settings: world.settings({ dataDir, port: 0 }), log: silentLog(), plans });
  const worker = startLocalWorker({
    ...{ slots: workers, dataDir, configFile, env: world.env, clock, random },
    log: silentLog(),
  });
  try {
    for (;;) {
      const config = main.loop().configs.find((each) => each.config_key === config_key);
      if (config?.state === "failed")
        throw OperatingError.internal(
          "EXPERIMENT_RUN_FAILED",
          `arm '${arm}' with seed ${seed} cannot go on: ${config.failures.at(-1)?.message ?? "nobody knows why"}`,
          { hint: `Its data folder is ${dataDir}.` },
        );
      if (config?.state === "complete" && config.champion !== null) {
        const { model } = config.champion;
        writeFileSync(modelFile(model), await readArtifact(dataDir, model, "the champion"), { mode: 0o600 });
        const promotions = config.verdicts.promote;
        const seconds = Math.round((clock.monotonic() - beganMs) / 100) / 10;
        return { champion: model, iterations: config.iteration, games: config.games, promotions, seconds };
      }
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  } finally {
    await worker.stop();
    await main.shutdown();
  }
}

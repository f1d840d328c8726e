/** One arm with one seed: the real loop in a data folder of its own, until its rounds are done. */
import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Clock,
  canonicalJson,
  type Environment,
  type Json,
  OperatingError,
  type Random,
  silentLog,
  sleep,
} from "../../../kernel/index.ts";
import { bootstrapCoordination } from "../../bootstrap.ts";
import { plansFor, type WantedPlan } from "../../pipeline/plans.ts";
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
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 500;

/** The plan of an arm, and of every config whose network it begins with: those do as many rounds as that takes. */
export function plansOfArm(experiment: Experiment, arm: string, seed: number, world: ExperimentWorld): WantedPlan[] {
  const { config_key, iterations } = experiment;
  const given = { ...experiment.plan, ...experiment.arms[arm], seed, most_iterations: iterations };
  const plans = plansFor([config_key], given, world);
  for (let last = plans[0]!.plan.start_from; last !== null; last = plans.at(-1)!.plan.start_from) {
    const { config_key: key, iteration } = last;
    if (plans.some(({ plan }) => plan.config_key === key)) break;
    plans.push(...plansFor([key], { seed, most_iterations: Math.max(1, iteration) }, world));
  }
  return plans;
}

/** What a run follows from: whoever does the same again comes to the same champion. */
export const followsFrom = (plans: readonly WantedPlan[]): string =>
  hash("sha256", canonicalJson(plans.map(({ plan }) => plan) as unknown as Json), "hex");

export async function runArm(
  experiment: Experiment,
  arm: string,
  seed: number,
  folder: string,
  modelFile: (champion: string) => string,
  world: ExperimentWorld,
): Promise<FinishedRun> {
  const { config_key } = experiment;
  const { clock, random, workers, configFile, signal } = world;
  const dataDir = join(folder, "runs", `${arm}-${seed}`);
  const plans = plansOfArm(experiment, arm, seed, world);
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
        return {
          ...{ champion: model, iterations: config.iteration, games: config.games, promotions, seconds },
          follows_from: followsFrom(plans),
        };
      }
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  } finally {
    await worker.stop();
    await main.shutdown();
  }
}

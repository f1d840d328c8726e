/** One arm with one seed: the real loop in a data folder of its own, until its rounds are done. */
import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Clock,
  canonicalJson,
  defined,
  type Environment,
  type Json,
  OperatingError,
  type Random,
  silentLog,
  sleep,
  sumOf,
} from "../../../kernel/index.ts";
import { type ConfigPlan, type ConfigSnapshot, derivedRuns, holdKnob, students } from "../../../pipeline/index.ts";
import { createWriteSet, type Store } from "../../../router/index.ts";
import { bootstrapCoordination } from "../../bootstrap.ts";
import { plansFor, type WantedPlan } from "../../pipeline/plans.ts";
import type { SettingOverrides, Settings } from "../../settings.ts";
import { startLocalWorker } from "../../worker/local-worker.ts";
import type { NamedWorkload } from "../../worker/workload-list.ts";
import { readArtifact } from "../folder-artifact.ts";
import type { FinishedRun } from "./book.ts";
import { configsOf, type Experiment } from "./definition.ts";

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

/**
 * The plan of an arm, of the configs beside it, and of every config whose network it begins with: with `start_from` those do as many rounds as that
 * takes, and in a cascade they go on until their gates say so.
 */
export function plansOfArm(experiment: Experiment, arm: string, seed: number, world: ExperimentWorld): WantedPlan[] {
  const { config_key, iterations, beside } = experiment;
  const rounds = { seed, most_iterations: iterations };
  const plans = plansFor([config_key], { ...experiment.plan, ...experiment.arms[arm], ...rounds }, world);
  plans.push(...plansFor(beside, rounds, world));
  for (let { start_from, cascade } = plans[0]!.plan; start_from !== null || cascade !== null; ) {
    const { config_key: key } = (start_from ?? cascade)!;
    if (plans.some(({ plan }) => plan.config_key === key)) break;
    const until = start_from === null ? {} : { most_iterations: Math.max(1, start_from.iteration) };
    plans.push(...plansFor([key], { seed, ...until }, world));
    ({ start_from, cascade } = plans.at(-1)!.plan);
  }
  return plans;
}

/** What a run follows from: whoever does the same again comes to the same champion. Undefined where it matters who is faster. */
export function followsFrom(
  { plays, hold, games }: Pick<Experiment, "plays" | "hold" | "games">,
  arm: string,
  plans: readonly WantedPlan[],
): string | undefined {
  if (games !== null) return undefined;
  const besides = defined({ plays: plays[arm], hold: hold[arm] });
  const all = [...plans.map(({ plan }) => plan), ...(Object.keys(besides).length === 0 ? [] : [besides])];
  return hash("sha256", canonicalJson(all as unknown as Json), "hex");
}

/** The configs whose champions are compared, once the run is over; undefined before. */
function ended({ games }: Experiment, keys: readonly string[], all: readonly ConfigSnapshot[]) {
  const found = keys.flatMap((key) => all.find(({ config_key }) => config_key === key) ?? []);
  if (found.length < keys.length || found.some(({ champion }) => champion === null)) return undefined;
  const isSpent = games !== null && sumOf(found, (config) => config.games) >= games;
  return isSpent || found.every(({ state }) => state === "complete") ? found : undefined;
}

/** The network that plays for an arm instead of its champion: null where none does, undefined where it is not made yet. */
function studentOf(
  { config_key, iterations, plays }: Experiment,
  arm: string,
  { derived }: ConfigPlan,
  store: Pick<Store, "read">,
): string | null | undefined {
  const kind = plays[arm];
  if (kind === undefined) return null;
  const { every } = derived[kind];
  if (every === null || every > iterations)
    throw OperatingError.invalid("INVALID_EXPERIMENT", `the plan of arm '${arm}' makes no network by ${kind}`, {
      hint: `Give it 'derived.${kind}.every' of at most ${iterations}.`,
    });
  const rows = createWriteSet(store);
  const run = rows.get(derivedRuns, config_key);
  if (run?.kind === kind && run.state === "failed")
    throw OperatingError.internal("EXPERIMENT_RUN_FAILED", `arm '${arm}' has no network: ${run.failure?.message}`);
  const made = rows.get(students, config_key)?.[kind];
  return made !== undefined && made.iteration >= Math.floor(iterations / every) * every ? made.model : undefined;
}

export async function runArm(
  experiment: Experiment,
  arm: string,
  seed: number,
  folder: string,
  modelFile: (champion: string) => string,
  world: ExperimentWorld,
): Promise<FinishedRun> {
  const keys: readonly string[] = configsOf(experiment);
  const { clock, random, workers, configFile, signal } = world;
  const dataDir = join(folder, "runs", `${arm}-${seed}`);
  const plans = plansOfArm(experiment, arm, seed, world);
  const beganMs = clock.monotonic();
  const main = await bootstrapCoordination({ settings: world.settings({ dataDir, port: 0 }), log: silentLog(), plans });
  const worker = startLocalWorker({
    ...{ slots: workers, dataDir, configFile, env: world.env, clock, random },
    log: silentLog(),
  });
  const { router } = main;
  const keep = async (model: string) =>
    writeFileSync(modelFile(model), await readArtifact(dataDir, model, "the champion"), { mode: 0o600 });
  try {
    const ports = { router: router as never, store: router.store, clock };
    const by = { actor: "experiment", reason: `arm '${arm}'`, dryRun: false };
    for (const key of configsOf(experiment))
      for (const [knob, factor] of Object.entries(experiment.hold[arm] ?? {}))
        await holdKnob(ports, key, knob as never, factor, by);
    for (;;) {
      const { configs } = main.loop();
      const config = configs.find(({ config_key: key, state }) => keys.includes(key) && state === "failed");
      if (config !== undefined)
        throw OperatingError.internal(
          "EXPERIMENT_RUN_FAILED",
          `arm '${arm}' with seed ${seed} cannot go on: ${config.failures.at(-1)?.message ?? "nobody knows why"}`,
          { hint: `Its data folder is ${dataDir}.` },
        );
      const over = ended(experiment, keys, configs);
      const student = studentOf(experiment, arm, plans[0]!.plan, router.store);
      if (over !== undefined && student !== undefined) {
        const [own, ...others] = over as [ConfigSnapshot, ...ConfigSnapshot[]];
        const champion = student ?? own.champion!.model;
        const beside = Object.fromEntries(others.map((each) => [each.config_key, each.champion!.model]));
        for (const model of [champion, ...Object.values(beside)]) await keep(model);
        return {
          ...{ champion, iterations: own.iteration, promotions: sumOf(over, ({ verdicts }) => verdicts.promote) },
          ...{ games: sumOf(over, ({ games }) => games), ...(others.length > 0 && { beside }) },
          seconds: Math.round((clock.monotonic() - beganMs) / 100) / 10,
          ...defined({ follows_from: followsFrom(experiment, arm, plans) }),
        };
      }
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  } finally {
    await worker.stop();
    await main.shutdown();
  }
}

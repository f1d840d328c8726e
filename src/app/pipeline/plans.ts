/** What is wanted of each config: from the built-in games' own defaults, from `plans` in `ringrift.config.json`, and from flags. */
import { z } from "zod";
import { canonicalJson, didYouMean, type Json, lazy, OperatingError } from "../../kernel/index.ts";
import {
  type ConfigPlan,
  type ConfigPlanInput,
  configPlanSchema,
  configs,
  KNOB_PARAMETERS,
  LOOP_KINDS,
  playersOf,
} from "../../pipeline/index.ts";
import type { EventRouter } from "../../router/index.ts";
import { CONFIG_KEYS, DEFAULT_LOOP } from "../../workloads/arena/index.ts";
import { sectionOf } from "../settings/config-file.ts";
import { type NamedWorkload, workloadFor } from "../worker/workload-list.ts";

type Given = Omit<Partial<ConfigPlanInput>, "config_key" | "kinds">;

/** Who does the work of a plan. */
export interface PlanWorld {
  readonly configFile: string | undefined;
  readonly workloads: readonly NamedWorkload[];
  /** Jobs at once, where that is known: then a round is cut into few jobs that keep all of them busy. */
  readonly workers?: number;
}

const MIN_GAMES_PER_JOB = 10;

/** Everything that the built-in games learn with, in the words of their jobs. */
const arenaDefaults = (games: number, workers: number | undefined): Given => ({
  games_per_iteration: games,
  // Three for each worker: those who are done early help the others out.
  ...(workers && { games_per_job: Math.max(MIN_GAMES_PER_JOB, Math.ceil(games / (3 * workers))) }),
  selfplay: { simulations: DEFAULT_LOOP.search.simulations, format: "npz" },
  training: { samples_per_row: DEFAULT_LOOP.samplesPerRow },
  evaluation: { simulations: DEFAULT_LOOP.gateSearch.simulations, opening_plies: DEFAULT_LOOP.gateOpeningPlies },
  window: { ...DEFAULT_LOOP.replay },
  gate: { batch_blocks: DEFAULT_LOOP.gateBatchBlocks },
});

/** Share of games that meet an earlier champion, or begin within an earlier game, where a knob shall turn it and the plan names none. */
const STEERED_SHARE = 0.2;

/** What the built-in games do unless they are told otherwise, said aloud where a knob shall multiply it. */
const knobDefaults = ({
  exploration = false,
  learning_rate = false,
  opponents = false,
  positions = false,
}: NonNullable<Given["steering"]> = {}) => ({
  selfplay: {
    ...(exploration && {
      temperature: DEFAULT_LOOP.selfPlay.temperature,
      noise_weight: DEFAULT_LOOP.search.noiseWeight,
    }),
    ...(opponents && { opponent_share: STEERED_SHARE }),
    ...(positions && { archive_share: STEERED_SHARE }),
  },
  training: learning_rate ? { rate: DEFAULT_LOOP.trainer.rate } : {},
});

/** A knob that has nothing to multiply is a plan that does not do what it says. */
function checkKnobs({ config_key, steering, selfplay, training }: ConfigPlan): void {
  for (const knob of Object.keys(KNOB_PARAMETERS) as (keyof typeof KNOB_PARAMETERS)[]) {
    const [kind, given] =
      knob === "learning_rate" ? (["training", training] as const) : (["selfplay", selfplay] as const);
    const names: readonly string[] = KNOB_PARAMETERS[knob];
    if (!steering[knob] || names.some((name) => typeof given[name] === "number")) continue;
    throw OperatingError.invalid(
      "KNOB_WITHOUT_PARAMETER",
      `the plan of ${config_key} steers '${knob}', and its ${kind} has no number to multiply`,
      {
        hint: `Give ${names.map((name) => `'${kind}.${name}'`).join(" or ")} a number, or switch 'steering.${knob}' off.`,
      },
    );
  }
}

/** A cascade goes from few players to many, and is one of two ways to begin with another's network. */
function checkCascade({ config_key, cascade, start_from }: ConfigPlan): void {
  if (cascade === null) return;
  const isUp = playersOf(cascade.config_key) < playersOf(config_key);
  if (isUp && start_from === null) return;
  throw OperatingError.invalid(
    "INVALID_PLAN",
    isUp
      ? `the plan of ${config_key} has both 'cascade' and 'start_from'`
      : `the plan of ${config_key} has a 'cascade' from ${cascade.config_key}, which has not fewer players`,
    { hint: isUp ? "Name one of them." : "Use 'start_from' for configs with as many players." },
  );
}

/** What the built-in games may be tuned in, at the budget of their self-play; openings are long enough for a thousand different ones. */
const ARENA_TUNING: Given["tuning"] = {
  parameters: {
    exploration: { low: 0.05, high: 5, start: DEFAULT_LOOP.search.exploration, scale: "log" },
    unvisited_reduction: { low: 0, high: 1, start: DEFAULT_LOOP.search.unvisitedReduction, scale: "linear" },
  },
  evaluation: { simulations: DEFAULT_LOOP.search.simulations, opening_plies: 8 },
};

/** What populations of the built-in games may differ in, and the shapes of networks that are tried. */
const ARENA_POPULATION: Given["population"] = {
  parameters: {
    rate: { low: 0.0002, high: 0.02, start: DEFAULT_LOOP.trainer.rate, scale: "log" },
    value_weight: { low: 0.25, high: 4, start: DEFAULT_LOOP.trainer.valueWeight, scale: "log" },
    search_share: { low: 0, high: 1, start: DEFAULT_LOOP.trainer.searchShare, scale: "linear" },
  },
  evaluation: { opening_plies: 8 },
};
const ARENA_ARCHITECTURE: Given["architecture"] = {
  shapes: {
    "24x16": { wide: 24, narrow: 16 },
    "48x32": { wide: 48, narrow: 32 },
    "64x48": { wide: 64, narrow: 48 },
    "96x64": { wide: 96, narrow: 64 },
  },
  evaluation: { opening_plies: 8 },
};

/** A student of half the width; and a net so small that it may search twice as much in the same time. */
const ARENA_STUDENT = { training: { wide: 24, narrow: 16 }, evaluation: { opening_plies: 8 } };
const ARENA_NNUE = {
  training: { wide: 8, narrow: 8 },
  evaluation: { opening_plies: 8, candidate_search: { simulations: 2 * DEFAULT_LOOP.gateSearch.simulations } },
};

const plansInFile = lazy(() =>
  z.record(z.string(), configPlanSchema().omit({ config_key: true, kinds: true }).partial()),
);

/** Plans of the file, by config; none if it has none. */
function plansOfFile(file: string | undefined): Readonly<Record<string, Given>> {
  const plans = sectionOf(file, "plans");
  if (plans === undefined) return {};
  // Checked field by field, but kept as it was written: what it does not say has other defaults for other games.
  const parsed = plansInFile().safeParse(plans);
  if (!parsed.success)
    throw OperatingError.invalid("INVALID_PLAN", `${file}: plans are wrong: ${z.prettifyError(parsed.error)}`, {
      hint: "docs/51-loop.md explains plans.",
    });
  return plans as Readonly<Record<string, Given>>;
}

/** The plan of a config that somebody here can play. */
function planFor(configKey: string, given: Given, { workloads, workers }: PlanWorld): ConfigPlan {
  const kinds = LOOP_KINDS.filter((kind) => {
    const workload = workloadFor(workloads, kind, configKey);
    return workload !== undefined && (workload.configKeys !== undefined || CONFIG_KEYS.includes(configKey));
  });
  const missing = (["selfplay", "training", "evaluation"] as const).filter((kind) => !kinds.includes(kind));
  if (missing.length > 0) {
    const known = [...new Set([...CONFIG_KEYS, ...workloads.flatMap(({ configKeys }) => configKeys ?? [])])];
    throw OperatingError.conflict("NO_WORKLOAD", `there is no workload for ${configKey} (${missing.join(", ")})`, {
      hint: `Known configs: ${known.join(", ")}.${didYouMean(configKey, known)}`,
    });
  }
  const isBuiltIn =
    CONFIG_KEYS.includes(configKey) && workloadFor(workloads, "selfplay", configKey)?.configKeys === undefined;
  const ours = isBuiltIn ? arenaDefaults(given.games_per_iteration ?? DEFAULT_LOOP.gamesPerRound, workers) : {};
  const knobs = knobDefaults(isBuiltIn ? given.steering : undefined);
  const all = { ...ours, ...given };
  const parsed = configPlanSchema().safeParse({
    ...all,
    selfplay: { ...knobs.selfplay, ...all.selfplay },
    training: { ...knobs.training, ...all.training },
    ...(isBuiltIn && {
      tuning: { ...ARENA_TUNING, ...given.tuning },
      population: { ...ARENA_POPULATION, ...given.population },
      architecture: { ...ARENA_ARCHITECTURE, ...given.architecture },
      derived: {
        distillation: { ...ARENA_STUDENT, ...given.derived?.distillation },
        nnue: { ...ARENA_NNUE, ...given.derived?.nnue },
      },
    }),
    config_key: configKey,
    kinds,
  });
  if (!parsed.success)
    throw OperatingError.invalid("INVALID_PLAN", `the plan of ${configKey} is wrong: ${z.prettifyError(parsed.error)}`);
  checkKnobs(parsed.data);
  checkCascade(parsed.data);
  return parsed.data;
}

/** A plan, and which of its fields somebody has asked for; a run that has begun keeps the others as they were. */
export interface WantedPlan {
  readonly plan: ConfigPlan;
  readonly asked: readonly string[];
}

/** What may change in a plan without another run coming of it. */
const HARMLESS = [
  "most_iterations",
  "target_elo",
  "weight",
  "rating_share",
  "kinds",
] as const satisfies (keyof ConfigPlan)[];

const isSame = (a: unknown, b: unknown) => canonicalJson((a ?? null) as Json) === canonicalJson((b ?? null) as Json);

/** The plan that a config goes on with. */
function mergePlan(known: ConfigPlan, { plan, asked }: WantedPlan): ConfigPlan {
  const harmless: readonly string[] = HARMLESS;
  const changed = asked.filter(
    (key) => !harmless.includes(key) && !isSame(known[key as keyof ConfigPlan], plan[key as keyof ConfigPlan]),
  );
  if (changed.length > 0)
    throw OperatingError.conflict("PLAN_DIFFERS", `${plan.config_key} has begun with another ${changed.join(", ")}`, {
      hint: "Continue with the same plan, or start again in another --data-dir.",
    });
  return { ...known, ...(Object.fromEntries(HARMLESS.map((key) => [key, plan[key]])) as Partial<ConfigPlan>) };
}

/** Writes the plans down. A run that has begun keeps what decides its outcome. */
export async function ensurePlans(router: Pick<EventRouter, "transact">, wanted: readonly WantedPlan[]): Promise<void> {
  if (wanted.length === 0) return;
  await router.transact({ source: "app" }, ({ rows }) => {
    for (const want of wanted) {
      const known = rows.get(configs, want.plan.config_key);
      const plan = known === undefined ? want.plan : mergePlan(known.plan, want);
      if (known === undefined || !isSame(known.plan, plan))
        rows.put(configs, plan.config_key, { ...known, plan, paused: known?.paused ?? null });
    }
  });
}

/** Plans for configs by name, with what the file and the flags say of them. */
export function plansFor(configKeys: readonly string[], flags: Given, world: PlanWorld): WantedPlan[] {
  const inFile = plansOfFile(world.configFile);
  return [...new Set(configKeys)].map((key) => {
    const given = { ...inFile[key], ...flags };
    return { plan: planFor(key, given, world), asked: Object.keys(given) };
  });
}

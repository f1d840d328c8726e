/** Steering as people see it, and what they may hold by hand. */
import { OperatingError } from "../../kernel/index.ts";
import { createWriteSet, type Store, type WriteSet } from "../../router/index.ts";
import { type ByHandPorts, decideByHand, requireConfig } from "../promotion/index.ts";
import { allocations } from "../selfplay/index.ts";
import {
  architectureWeights,
  CONTENT_KNOBS,
  type ConfigPlan,
  type ContentKnob,
  configs,
  iterations,
  KNOBS,
  type Knob,
  knobIn,
  knobKey,
  type SearchMethod,
  searchOrders,
  searchRequests,
  signalHolds,
  signalsOf,
  trainedWith,
  trainingTunings,
  tunings,
} from "../stage/index.ts";
import { authorOf, isSteered } from "./knobs.ts";
import { MAX_FACTOR, MAX_WEIGHT, MIN_FACTOR, MIN_WEIGHT } from "./limits.ts";
import { incumbentOf } from "./search/population.ts";
import { checkValues, valuesOf } from "./search/space.ts";
import { gauntlets, METRICS, mastered, measures, populationRuns, searchRuns } from "./tables.ts";

/** What may be set by hand, and what turns the knob otherwise. */
const BOUNDS: Readonly<Record<Knob, { readonly low: number; readonly high: number; readonly author: string }>> = {
  share: { low: MIN_WEIGHT, high: MAX_WEIGHT, author: "curriculum_integration" },
  ...(Object.fromEntries(
    CONTENT_KNOBS.map((knob) => [knob, { low: MIN_FACTOR, high: MAX_FACTOR, author: authorOf(knob) }]),
  ) as Record<ContentKnob, { low: number; high: number; author: string }>),
};

/** What steers one config: each knob with its factor, what was said of it and who holds it, and where its measures go. */
export function steeringOf(rows: Pick<WriteSet, "get">, config_key: string) {
  const at = rows.get(iterations, config_key);
  const plan = rows.get(configs, config_key)?.plan ?? {};
  const { trends = {} } = rows.get(measures, config_key) ?? {};
  return {
    knobs: KNOBS.map((knob) => {
      const key = knobKey(config_key, knob);
      return {
        knob,
        // What changes games is taken when an iteration opens; shares count at once.
        value: knob === "share" ? knobIn(rows, config_key, knob, at?.iteration ?? 0) : (at?.knobs?.[knob] ?? 1),
        on: isSteered(plan, knob),
        ...BOUNDS[knob],
        signal: rows.get(signalsOf[knob], key) ?? null,
        held: rows.get(signalHolds, key) ?? null,
      };
    }),
    mastered: Object.entries(rows.get(mastered, config_key) ?? {}).map(([opponent, { model, ...how }]) => ({
      opponent,
      model_id: model,
      ...how,
    })),
    asked: rows.get(gauntlets, config_key)?.asked ?? null,
    trends: METRICS.flatMap((metric) => {
      const trend = trends[metric];
      return trend === undefined ? [] : [{ metric, ...trend }];
    }),
  };
}

/** What steers every config, and what its share of self-play is made of. */
export function steeringView(store: Pick<Store, "read">) {
  const rows = createWriteSet(store);
  return {
    configs: rows.list(configs).map(([config_key]) => {
      const allocation = rows.get(allocations, config_key);
      return {
        config_key,
        iteration: rows.get(iterations, config_key)?.iteration ?? 0,
        share: allocation?.share ?? null,
        factors: (allocation?.reasons ?? []).filter(({ name }) => name !== "floor"),
        tuned: rows.get(tunings, config_key)?.steps.at(-1) ?? null,
        trained: rows.get(trainingTunings, config_key)?.steps.at(-1) ?? null,
        architectures: rows.get(architectureWeights, config_key)?.weights ?? {},
        search: searchView(rows, config_key),
        ...steeringOf(rows, config_key),
      };
    }),
  };
}

/** The search for better parameters that is under way, or the last one. */
function searchView(rows: WriteSet, configKey: string) {
  const order = rows.get(searchOrders, configKey);
  if (order === undefined) return null;
  const { run_id, iteration, reason, at, outcome, ended, incumbent } = order;
  const method = order.method ?? "cmaes";
  const known = method === "cmaes" ? rows.get(searchRuns, configKey) : rows.get(populationRuns, configKey);
  const own = known?.run_id === run_id ? known : undefined;
  const population = rows.get(measures, configKey)?.population;
  const isPopulation = own !== undefined && "members" in own;
  return {
    ...{ run_id, method, iteration, reason, at, incumbent, outcome, ended },
    state: outcome ?? own?.state ?? "ordered",
    generation: own === undefined ? 0 : isPopulation ? own.generation : own.cma.generation,
    games: own?.games ?? 0,
    found: own === undefined ? null : isPopulation ? (own.found?.values ?? null) : own.found,
    proof: own?.proof ?? null,
    members: isPopulation
      ? own.members.map(({ name, values, score, parent }) => ({ name, values, score, parent }))
      : [],
    /** Best of each generation. */
    best_scores: population?.run_id === run_id ? [...population.best] : [],
  };
}

/** Refuses a search that could find nothing. */
function checkSearch(rows: WriteSet, configKey: string, plan: ConfigPlan, method: SearchMethod): void {
  if (method === "cmaes") {
    const space = plan.tuning?.parameters ?? {};
    checkValues(space, valuesOf(space, { ...plan.selfplay, ...rows.get(tunings, configKey)?.steps.at(-1)?.values }));
  } else if (method === "pbt") {
    const trained = trainedWith(rows.get(trainingTunings, configKey), Number.POSITIVE_INFINITY);
    checkValues(plan.population?.parameters ?? {}, plan.population === undefined ? {} : incumbentOf(plan, trained));
  } else if (Object.keys(plan.architecture?.shapes ?? {}).length === 0)
    throw OperatingError.conflict("NOTHING_TO_TUNE", "the plan names no shape of a network", {
      hint: "Name some in `architecture.shapes` of the plan.",
    });
}

/** Asks for a search; `optimization_coordinator` begins it. */
export const requestSearch = (ports: ByHandPorts, configKey: string, by: Held, method: SearchMethod = "cmaes") =>
  decideByHand(ports, by.dryRun, ({ rows }) => {
    const { plan } = requireConfig(rows, configKey);
    checkSearch(rows, configKey, plan, method);
    const open = rows.get(searchOrders, configKey);
    const request = rows.get(searchRequests, configKey);
    const isAsked = request !== undefined && request.at > (open?.requested_at ?? 0);
    if (isAsked || (open !== undefined && open.outcome === null))
      return { config_key: configKey, applied: false, changes: [] };
    rows.put(searchRequests, configKey, { by: by.actor, at: ports.clock.now(), reason: by.reason, method });
    return {
      config_key: configKey,
      applied: !by.dryRun,
      changes: [{ what: "search", before: null, after: "asked for" }],
    };
  });

interface Held {
  readonly actor: string;
  readonly reason: string;
  readonly dryRun: boolean;
}

/** Holds a knob at a value until somebody releases it, or releases it where the value is null. */
export const holdKnob = (ports: ByHandPorts, configKey: string, knob: Knob, value: number | null, by: Held) =>
  decideByHand(ports, by.dryRun, ({ rows }) => {
    requireConfig(rows, configKey);
    const { low, high } = BOUNDS[knob];
    if (value !== null && !(value >= low && value <= high))
      throw OperatingError.invalid("KNOB_OUT_OF_BOUNDS", `'${knob}' may be from ${low} to ${high}, not ${value}`, {
        hint: `1 changes nothing; ${high} is the most.`,
      });
    const key = knobKey(configKey, knob);
    const before = rows.get(signalHolds, key)?.value ?? null;
    if (before === value) return { config_key: configKey, applied: false, changes: [] };
    if (value === null) rows.delete(signalHolds, key);
    else rows.put(signalHolds, key, { value, by: by.actor, at: ports.clock.now(), reason: by.reason });
    return { config_key: configKey, applied: !by.dryRun, changes: [{ what: `${knob} held at`, before, after: value }] };
  });

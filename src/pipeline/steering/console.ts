/** Steering as people see it, and what they may hold by hand. */
import { OperatingError } from "../../kernel/index.ts";
import { createWriteSet, type Store, type WriteSet } from "../../router/index.ts";
import { type ByHandPorts, decideByHand, requireConfig } from "../promotion/index.ts";
import { allocations } from "../selfplay/index.ts";
import {
  CONTENT_KNOBS,
  type ContentKnob,
  configs,
  iterations,
  KNOBS,
  type Knob,
  knobIn,
  knobKey,
  searchOrders,
  searchRequests,
  signalHolds,
  signalsOf,
  tunings,
} from "../stage/index.ts";
import { authorOf, isSteered } from "./knobs.ts";
import { MAX_FACTOR, MAX_WEIGHT, MIN_FACTOR, MIN_WEIGHT } from "./limits.ts";
import { checkValues, valuesOf } from "./search/space.ts";
import { gauntlets, METRICS, mastered, measures, searchRuns } from "./tables.ts";

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
        on: knob === "share" || isSteered(plan, knob),
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
  const run = rows.get(searchRuns, configKey);
  const own = run?.run_id === run_id ? run : undefined;
  return {
    ...{ run_id, iteration, reason, at, incumbent, outcome, ended },
    state: outcome ?? own?.state ?? "ordered",
    generation: own?.cma.generation ?? 0,
    games: own?.games ?? 0,
    found: own?.found ?? null,
    proof: own?.proof ?? null,
  };
}

/** Asks for a search for better parameters; `optimization_coordinator` begins it. */
export const requestSearch = (ports: ByHandPorts, configKey: string, by: Held) =>
  decideByHand(ports, by.dryRun, ({ rows }) => {
    const { plan } = requireConfig(rows, configKey);
    const space = plan.tuning?.parameters ?? {};
    checkValues(space, valuesOf(space, { ...plan.selfplay, ...rows.get(tunings, configKey)?.steps.at(-1)?.values }));
    const open = rows.get(searchOrders, configKey);
    const request = rows.get(searchRequests, configKey);
    const isAsked = request !== undefined && request.at > (open?.requested_at ?? 0);
    if (isAsked || (open !== undefined && open.outcome === null))
      return { config_key: configKey, applied: false, changes: [] };
    rows.put(searchRequests, configKey, { by: by.actor, at: ports.clock.now(), reason: by.reason });
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

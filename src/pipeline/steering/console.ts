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
  signalHolds,
  signalsOf,
} from "../stage/index.ts";
import { authorOf, isSteered } from "./knobs.ts";
import { MAX_FACTOR, MAX_WEIGHT, MIN_FACTOR, MIN_WEIGHT } from "./limits.ts";
import { METRICS, measures } from "./tables.ts";

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
        ...steeringOf(rows, config_key),
      };
    }),
  };
}

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

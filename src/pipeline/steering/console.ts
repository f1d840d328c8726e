/** Steering as people see it, and what they may hold by hand. */
import { OperatingError } from "../../kernel/index.ts";
import { createWriteSet, type Store } from "../../router/index.ts";
import { type ByHandPorts, decideByHand, requireConfig } from "../promotion/index.ts";
import { allocations } from "../selfplay/index.ts";
import { configs, iterations, KNOBS, type Knob, knobIn, knobKey, signalHolds, signals } from "../stage/index.ts";
import { MAX_WEIGHT, MIN_WEIGHT } from "./limits.ts";

/** What may be set by hand, and what turns the knob otherwise. */
const BOUNDS: Readonly<Record<Knob, { readonly low: number; readonly high: number; readonly author: string }>> = {
  share: { low: MIN_WEIGHT, high: MAX_WEIGHT, author: "curriculum_integration" },
};

/** Every knob of every config: the factor it has now, what was said of it, and who holds it. */
export function steeringView(store: Pick<Store, "read">) {
  const rows = createWriteSet(store);
  return {
    configs: rows.list(configs).map(([config_key]) => {
      const iteration = rows.get(iterations, config_key)?.iteration ?? 0;
      const allocation = rows.get(allocations, config_key);
      return {
        config_key,
        iteration,
        share: allocation?.share ?? null,
        factors: (allocation?.reasons ?? []).filter(({ name }) => name !== "floor"),
        knobs: KNOBS.map((knob) => {
          const key = knobKey(config_key, knob);
          return {
            knob,
            value: knobIn(rows, config_key, knob, iteration),
            ...BOUNDS[knob],
            signal: rows.get(signals, key) ?? null,
            held: rows.get(signalHolds, key) ?? null,
          };
        }),
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

/**
 * What gates say of the knobs that change what is played or trained, as pure functions. A knob reads nothing but gates, its plan and what a
 * person holds: one seed still gives one champion.
 */
import type { Store, WriteSet } from "../../router/index.ts";
import {
  CONTENT_KNOBS,
  type ConfigPlan,
  type ContentKnob,
  type Knobs,
  knobKey,
  putChanged,
  type Signal,
  signalHolds,
  signalIn,
  signalsOf,
} from "../stage/index.ts";
import { gatesBefore, type JudgedGate, judgeGates } from "./gates.ts";
import { KNOB_HALF_LIFE, MAX_FACTOR, MIN_FACTOR } from "./limits.ts";

interface Rule {
  /** The unit that says it. */
  readonly author: string;
  /** What one gate makes of the knob; 1 where it says nothing of it. */
  readonly step: (gate: JudgedGate) => number;
  /** The gates that it hears, in words. */
  readonly about: string;
}

/**
 * - A strong gate: what is played now teaches well, so there is less need to explore.
 * - Two weak gates in a row: the candidates overshoot, so they learn in smaller steps.
 * - A weak gate: one round of games was too few to get stronger.
 * - A plateau: what is played teaches nothing new. Explore more, and search deeper: a harder tier.
 */
const RULES: Readonly<Record<ContentKnob, Rule>> = {
  learning_rate: {
    author: "gauntlet_feedback",
    step: ({ strength, weakInARow }) => (strength === "weak" && weakInARow >= 2 ? 0.8 : 1),
    about: "weak gates in a row",
  },
  games: {
    author: "gauntlet_feedback",
    step: ({ strength }) => (strength === "weak" ? 1.2 : 1),
    about: "weak gates",
  },
  exploration: {
    author: "exploration_scheduler",
    step: ({ strength, isPlateau }) => (isPlateau ? 1.2 : strength === "strong" ? 0.9 : 1),
    about: "strong gates and plateaus",
  },
  search: {
    author: "exploration_scheduler",
    step: ({ isPlateau }) => (isPlateau ? 1.2 : 1),
    about: "plateaus",
  },
};

export const authorOf = (knob: ContentKnob): string => RULES[knob].author;

const within = (value: number): number => Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, value));

/** What the gates so far say of a knob; undefined where none of the last ones says anything. */
export function judgeKnob(knob: ContentKnob, gates: readonly JudgedGate[]): Signal | undefined {
  const last = gates.at(-1);
  if (last === undefined) return undefined;
  const { author, step, about } = RULES[knob];
  const spoken = gates.filter((gate) => step(gate) !== 1 && last.iteration - gate.iteration < 4 * KNOB_HALF_LIFE);
  if (spoken.length === 0) return undefined;
  const value = spoken.reduce(
    (product, gate) => product * step(gate) ** (0.5 ** ((last.iteration - gate.iteration) / KNOB_HALF_LIFE)),
    1,
  );
  return {
    value: within(value),
    low: MIN_FACTOR,
    high: MAX_FACTOR,
    half_life: KNOB_HALF_LIFE,
    // It counts from the next iteration on.
    iteration: last.iteration + 1,
    since: last.at,
    author,
    reason: `${spoken.length} ${about}, the last in iteration ${spoken.at(-1)!.iteration}`,
    evidence: { gates: gates.length, spoken: spoken.length, last_gate: last.iteration, tier: last.tier },
  };
}

/** Whether results may turn this knob. Plans of older versions say nothing of it. */
export const isSteered = ({ steering }: Partial<Pick<ConfigPlan, "steering">>, knob: ContentKnob): boolean =>
  steering?.[knob] === true;

/** What an iteration is opened with: what a person holds, else what is left of the signal. Undefined where nothing is said. */
export function knobsAt(
  store: Pick<Store, "read">,
  rows: Pick<WriteSet, "get">,
  plan: ConfigPlan,
  iteration: number,
): Knobs | undefined {
  const { config_key } = plan;
  const held = (knob: ContentKnob) => rows.get(signalHolds, knobKey(config_key, knob))?.value;
  const spoken = CONTENT_KNOBS.filter((knob) => isSteered(plan, knob) || held(knob) !== undefined);
  if (spoken.length === 0) return undefined;
  const gates = judgeGates(gatesBefore(store, config_key, iteration));
  const factors = spoken.flatMap((knob) => {
    const signal = isSteered(plan, knob) ? judgeKnob(knob, gates) : undefined;
    const factor = held(knob) ?? (signal === undefined ? 1 : signalIn(signal, iteration));
    return factor === 1 ? [] : [[knob, factor] as const];
  });
  return factors.length === 0 ? undefined : Object.fromEntries(factors);
}

/** Writes down what gates say of knobs, as far as the plan lets results turn them. */
export function putSignals(
  rows: Pick<WriteSet, "get" | "put">,
  plan: ConfigPlan,
  gates: readonly JudgedGate[],
  ...knobs: readonly ContentKnob[]
): void {
  for (const knob of knobs) {
    const signal = isSteered(plan, knob) ? judgeKnob(knob, gates) : undefined;
    if (signal !== undefined) putChanged(rows, signalsOf[knob], knobKey(plan.config_key, knob), signal);
  }
}

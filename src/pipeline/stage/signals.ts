import type { Json } from "../../kernel/index.ts";
import { defineTable, type StateTable, type WriteSet } from "../../router/index.ts";
import type { ContentKnob, Knob } from "./knob-names.ts";
import type { ConfigPlan } from "./plan.ts";

/** Files that the games of an iteration draw on, by their hash: games to start from, and an earlier champion to meet. */
export type DrawnFiles = { readonly archive?: readonly string[]; readonly opponent?: string };

/** The factors that an iteration was opened with, what is not there is 1; and the files that its games draw on. */
export type Knobs = { readonly [knob in ContentKnob]?: number } & { readonly files?: DrawnFiles };

/** The files of an iteration as inputs of its jobs. */
export const drawnInputs = ({ files }: Knobs = {}): { readonly name: string; readonly sha256: string }[] => [
  ...(files?.opponent === undefined ? [] : [{ name: "opponent", sha256: files.opponent }]),
  ...(files?.archive ?? []).map((sha256, n) => ({ name: `archive-${String(n).padStart(4, "0")}`, sha256 })),
];

/** What iterations were opened with, by config and then by iteration, so that what is lost can be made again. Written with `iterations`. */
export const openedWith = defineTable<{ readonly [iteration: string]: Knobs }>("pipeline_opened_with");
/** Iterations whose knobs are kept. */
const OPENED_KEPT = 1_000;

/** The iterations of a config with one more, and without what is long ago. */
export const withOpened = (
  known: { readonly [iteration: string]: Knobs } | undefined,
  iteration: number,
  knobs: Knobs,
): { readonly [iteration: string]: Knobs } =>
  Object.fromEntries(
    Object.entries<Knobs>({ ...known, [iteration]: knobs }).filter(
      ([opened]) => Number(opened) > iteration - OPENED_KEPT,
    ),
  );

/** Parameters of jobs that a knob multiplies, as far as the plan names them. */
export const KNOB_PARAMETERS = {
  learning_rate: ["rate", "learning_rate"],
  exploration: ["temperature", "noise_weight"],
  search: ["simulations"],
  opponents: ["opponent_share"],
  positions: ["archive_share"],
} as const satisfies { readonly [knob in ContentKnob]?: readonly string[] };

/** Those of them that change how games are played. */
export const PLAY_KNOBS = ["exploration", "search", "opponents", "positions"] as const;

/** The knob `positions` in words: the more games begin within earlier ones, the harder the positions that they begin with. */
export const difficultyOf = (positions: number): "normal" | "medium-hard" | "hard" =>
  positions < 1.1 ? "normal" : positions < 1.5 ? "medium-hard" : "hard";

const SHARES: readonly string[] = ["noise_weight", "opponent_share", "archive_share"];

/**
 * Parameters of a job with the knobs of its iteration. A number that a plan does not give is left to the workload: nobody here knows
 * what to multiply. Whole numbers stay whole and shares stay shares.
 */
export function withKnobs(
  parameters: { readonly [name: string]: Json },
  knobs: Knobs | undefined,
  ...turned: readonly (keyof typeof KNOB_PARAMETERS)[]
): { readonly [name: string]: Json } {
  const changed: Record<string, Json> = {};
  for (const knob of turned) {
    const factor = knobs?.[knob] ?? 1;
    if (factor === 1) continue;
    for (const name of KNOB_PARAMETERS[knob]) {
      const given = parameters[name];
      if (typeof given !== "number" || !Number.isFinite(given)) continue;
      const value =
        Number.isInteger(given) && knob === "search" ? Math.max(1, Math.round(given * factor)) : given * factor;
      changed[name] = SHARES.includes(name) ? Math.min(1, value) : value;
    }
  }
  // A plan that says how hard they are is not turned.
  const difficulty = turned.includes("positions") ? difficultyOf(knobs?.positions ?? 1) : "normal";
  if (difficulty !== "normal" && "archive_share" in changed && parameters.position_difficulty === undefined)
    changed.position_difficulty = difficulty;
  return Object.keys(changed).length === 0 ? parameters : { ...parameters, ...changed };
}

/** The window of training with the knob of its row. */
export const windowWith = (
  { base, share, most }: ConfigPlan["window"],
  knobs: Knobs | undefined,
): ConfigPlan["window"] => {
  const factor = knobs?.window ?? 1;
  const rows = (given: number) => (factor === 1 ? given : Math.max(1, Math.round(given * factor)));
  return { base: rows(base), share: factor === 1 ? share : Math.min(1, share * factor), most: rows(most) };
};

/** Games of an iteration with the knob of its row. */
export const gamesWith = (games: number, knobs: Knobs | undefined): number =>
  Math.max(1, Math.round(games * (knobs?.games ?? 1)));

/**
 * What a unit of steering says of a knob of a config: a factor, 1 where nothing is to change. It fades towards 1 with the iterations
 * of its config unless it is said again. Written by the unit that turns the knob.
 */
export type Signal = {
  readonly value: number;
  /** It is never taken for less or for more, whatever stands in `value`. */
  readonly low: number;
  readonly high: number;
  /** Iterations after which half of it is left. */
  readonly half_life: number;
  /** The iteration in which it was said. */
  readonly iteration: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly author: string;
  readonly reason: string;
  readonly evidence: { readonly [name: string]: Json };
};

/** By config and knob, see `knobKey`; one table for each unit that turns knobs. */
export const signals = defineTable<Signal>("pipeline_signals");
export const gauntletSignals = defineTable<Signal>("pipeline_gauntlet_signals");
export const explorationSignals = defineTable<Signal>("pipeline_exploration_signals");

/** Where the signal of a knob stands. */
export const signalsOf: Readonly<Record<Knob, StateTable<Signal>>> = {
  share: signals,
  learning_rate: gauntletSignals,
  games: gauntletSignals,
  exploration: explorationSignals,
  search: explorationSignals,
  opponents: gauntletSignals,
  positions: explorationSignals,
  window: gauntletSignals,
};

/** A person's word on a knob, which counts until it is taken back. Written by the commands `steering hold` and `release`. */
export type SignalHold = {
  readonly value: number;
  readonly by: string;
  readonly at: number;
  readonly reason: string;
};
export const signalHolds = defineTable<SignalHold>("pipeline_signal_holds");

export const knobKey = (configKey: string, knob: Knob): string => `${configKey}/${knob}`;

const within = (value: number, low: number, high: number): number =>
  Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : 1;

/** What is left of a signal in an iteration of its config. Halving works on the factor: 4 becomes 2 and a quarter a half. */
export function signalIn(signal: Signal, iteration: number): number {
  const age = Math.max(0, iteration - signal.iteration);
  const bounded = within(signal.value, signal.low, signal.high);
  return bounded ** (0.5 ** (age / signal.half_life));
}

/** The factor that a knob has in an iteration: what a person holds it at, else what is left of its signal, else 1. */
export function knobIn(rows: Pick<WriteSet, "get">, configKey: string, knob: Knob, iteration: number): number {
  const key = knobKey(configKey, knob);
  const held = rows.get(signalHolds, key);
  if (held !== undefined) return held.value;
  const signal = rows.get(signalsOf[knob], key);
  return signal === undefined ? 1 : signalIn(signal, iteration);
}

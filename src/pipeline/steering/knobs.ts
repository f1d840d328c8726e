/**
 * What gates say of the knobs that change what is played or trained, as pure functions. A knob reads nothing but gates, its plan and what a
 * person holds: one seed still gives one champion.
 */
import { defined } from "../../kernel/index.ts";
import type { Store, WriteSet } from "../../router/index.ts";
import {
  CONTENT_KNOBS,
  type ConfigPlan,
  type ContentKnob,
  type DrawnFiles,
  type Knob,
  type Knobs,
  knobKey,
  putChanged,
  type Signal,
  signalHolds,
  signalIn,
  signalsOf,
  syncWork,
} from "../stage/index.ts";
import { type GateWord, gatesBefore, type JudgedGate, judgeGates } from "./gates.ts";
import { ARCHIVE_FILES, KNOB_HALF_LIFE, MAX_FACTOR, MIN_FACTOR } from "./limits.ts";

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
 * - A plateau: what is played teaches nothing new. Explore more, search deeper, and begin more games in positions of earlier ones: a harder tier.
 * - A weak gate: who plays only itself may go in circles, so it meets an earlier champion more often.
 * - Two weak gates in a row: the oldest games teach what was overcome, so the window gets shorter.
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
  opponents: {
    author: "gauntlet_feedback",
    step: ({ strength }) => (strength === "weak" ? 1.2 : strength === "strong" ? 0.9 : 1),
    about: "strong and weak gates",
  },
  positions: {
    author: "exploration_scheduler",
    step: ({ isPlateau }) => (isPlateau ? 1.2 : 1),
    about: "plateaus",
  },
  window: {
    author: "gauntlet_feedback",
    step: ({ strength, weakInARow }) => (strength === "weak" && weakInARow >= 2 ? 0.9 : 1),
    about: "weak gates in a row",
  },
};

export const authorOf = (knob: ContentKnob): string => RULES[knob].author;

/** The knobs that a unit turns. */
export const knobsOf = (author: string): ContentKnob[] => CONTENT_KNOBS.filter((knob) => authorOf(knob) === author);

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
export const isSteered = ({ steering }: Partial<Pick<ConfigPlan, "steering">>, knob: Knob): boolean =>
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
  const [opponent, archive] = [drawsOn(plan, "opponent_share"), drawsOn(plan, "archive_share")];
  if (spoken.length === 0 && !opponent && !archive) return undefined;
  const words = gatesBefore(store, config_key, iteration);
  const files: DrawnFiles = {
    ...(opponent ? defined({ opponent: formerChampion(words) }) : {}),
    ...(archive ? defined({ archive: archiveFor(rows, config_key, iteration) }) : {}),
  };
  const gates = judgeGates(words);
  const factors = spoken.flatMap((knob) => {
    const signal = isSteered(plan, knob) ? judgeKnob(knob, gates) : undefined;
    const factor = held(knob) ?? (signal === undefined ? 1 : signalIn(signal, iteration));
    return factor === 1 ? [] : [[knob, factor] as const];
  });
  const drawn = Object.keys(files).length === 0 ? {} : { files };
  return factors.length + Object.keys(drawn).length === 0 ? undefined : { ...Object.fromEntries(factors), ...drawn };
}

/** Whether the games of a plan draw on files beside their model. */
const drawsOn = ({ selfplay }: ConfigPlan, share: "opponent_share" | "archive_share"): boolean =>
  typeof selfplay[share] === "number" && selfplay[share] > 0;

/** The champion before the one of now, by its gates. */
const formerChampion = (gates: readonly GateWord[]): string | undefined =>
  gates.findLast(({ verdict }) => verdict === "promote")?.opponent;

/** Games of the last iteration, as they were accepted: the same bytes whoever played them. Their batch is kept until the next one is judged. */
function archiveFor(rows: Pick<WriteSet, "get">, configKey: string, iteration: number): readonly string[] | undefined {
  const last = rows.get(syncWork, configKey);
  if (last?.state !== "done" || last.iteration !== iteration - 1) return undefined;
  const games = [...last.own.accepted]
    .sort((a, b) => (a.part < b.part ? -1 : 1))
    .flatMap(({ games_file }) => (games_file === null ? [] : [games_file.sha256]))
    .slice(0, ARCHIVE_FILES);
  return games.length === 0 ? undefined : games;
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

/** The steps within a stage: each has to show the next sign in its own time, which is shorter than that of the stage. */
import { defineTable } from "../../../router/index.ts";
import { type Iteration, isFor, type Stage } from "../../stage/index.ts";

const MINUTE_MS = 60_000;

/** The signs of a step in the order in which they come, the stage that they belong to, and how long the next sign may take. */
export const STEPS = {
  PARITY_VALIDATION_STARTED: { stage: "data_sync", withinMs: 20 * MINUTE_MS },
  NPZ_EXPORT_STARTED: { stage: "npz_export", withinMs: 20 * MINUTE_MS },
  NPZ_COMBINATION_STARTED: { stage: "npz_export", withinMs: 20 * MINUTE_MS },
  // Until somebody begins the run.
  TRAINING_LOCK_ACQUIRED: { stage: "training", withinMs: 30 * MINUTE_MS },
  // A workload need not tell its losses; one that tells them does not fall silent.
  TRAINING_STARTED: { stage: "training", withinMs: 180 * MINUTE_MS },
  TRAINING_PROGRESS: { stage: "training", withinMs: 30 * MINUTE_MS },
  MODEL_DISTRIBUTION_STARTED: { stage: "evaluation", withinMs: 10 * MINUTE_MS },
  EVALUATION_STARTED: { stage: "evaluation", withinMs: 60 * MINUTE_MS },
  EVALUATION_PROGRESS: { stage: "evaluation", withinMs: 60 * MINUTE_MS },
  PROMOTION_STARTED: { stage: "promotion", withinMs: MINUTE_MS },
} as const satisfies Readonly<Record<string, { stage: Stage; withinMs: number }>>;
export type StepEvent = keyof typeof STEPS;

/** The last sign of a config, and the turn that it was of. Rows of older versions have no turn. */
export type Step = {
  readonly event: StepEvent;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly iteration: number;
  readonly attempt: number;
};
/** By config_key. Written by `progress_watchdog`. */
export const steps = defineTable<Step>("pipeline_signs");

const ORDER = Object.keys(STEPS);

/** The sign as a step of the turn of now; undefined for one that came too late to say anything: a later step has begun. */
export function stepOf(event: StepEvent, at: Iteration | undefined, now: number, before?: Step): Step | undefined {
  if (at?.stage !== STEPS[event].stage) return undefined;
  const known = currentStep(before, at);
  if (known !== undefined && ORDER.indexOf(known.event) > ORDER.indexOf(event)) return undefined;
  return { event, at: now, iteration: at.iteration, attempt: at.attempt };
}

/** The step that a config is at; undefined where the last sign is of another turn. */
export const currentStep = (step: Step | undefined, at: Iteration): Step | undefined =>
  isFor(step, at) && STEPS[step.event].stage === at.stage ? step : undefined;

/** When the config is late: at the deadline of its stage, or when the step that it is at shows nothing more. */
export function deadlineOf(at: Iteration, step: Step | undefined): number {
  const known = currentStep(step, at);
  return known === undefined ? at.deadline : Math.min(at.deadline, known.at + STEPS[known.event].withinMs);
}

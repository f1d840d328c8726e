import { defineTable } from "../../router/index.ts";
import type { GateResult } from "./units/training-trigger/decide.ts";

/** The last verdict on a training run, with what each gate saw. Times are milliseconds since the epoch. */
export type StoredGates = {
  readonly iteration: number;
  readonly attempt: number;
  readonly verdict: "go" | "wait" | "skip";
  /** Each with when it last changed between open and closed. */
  readonly gates: readonly (GateResult & { readonly since: number })[];
  readonly at: number;
  /** The iteration in which a harder tier was asked for last; missing before the first time. */
  readonly asked?: number;
  /** The run begins at the champion: candidates of another architecture did not gain. Missing where it goes on with its line. */
  readonly back?: boolean;
};

/** By config_key. Written by `training_trigger`. */
export const trainingGates = defineTable<StoredGates>("pipeline_gates");

/** Who trains a config. `holder` is the undertaking, null when it is free; the fence only grows. */
export type TrainingLock = {
  readonly holder: string | null;
  readonly fence: number;
  readonly acquired_at: number;
  readonly expires_at: number;
};
/** By config_key. Written by `training_coordinator`. */
export const trainingLocks = defineTable<TrainingLock>("pipeline_training_locks");

/** The undertaking that holds the lock now; null if nobody does or its time is over. */
export const holderOf = (lock: TrainingLock | undefined, now: number): string | null =>
  lock === undefined || lock.expires_at <= now ? null : lock.holder;

/** Whether evaluation holds training back, since when, and how much is under way. By scope; written by `evaluation_daemon`. */
export type EvaluationPressure = { readonly on: boolean; readonly depth: number; readonly since: number };
export const evaluationPressures = defineTable<EvaluationPressure>("pipeline_evaluation_pressure");
export const EVALUATION_SCOPE = "evaluation";

/**
 * The line of runs of a config: where the next one goes on. A candidate that was rejected stays on its line, as the network
 * keeps learning; only a rollback sets the line back.
 */
export type TrainingLine = {
  readonly model: string | null;
  readonly checkpoint: string | null;
  readonly iteration: number;
  /** The generation of champions whose rollback the line has obeyed; 0 before the first. */
  readonly rollback: number;
  /** The direction of the losses when it was last told. */
  readonly trend: string | null;
  /** Where the run of this line began: what the next one goes back to where nobody can use what it made. Older rows have none. */
  readonly before?: { readonly model: string | null; readonly checkpoint: string | null };
};
/** By config_key. Written by `training_coordinator`. */
export const trainingLines = defineTable<TrainingLine>("pipeline_training_lines");

export const NEW_LINE: TrainingLine = { model: null, checkpoint: null, iteration: -1, rollback: 0, trend: null };

/** What was restored last, and why; what could not be restored, and why not. Times are milliseconds since the epoch. */
export type Rollback = {
  /** The generation that the restored champion got. */
  readonly generation: number;
  readonly withdrawn: string;
  readonly restored: string;
  /** Where training goes on; null if the restored champion has no checkpoint. */
  readonly checkpoint: string | null;
  readonly reason: string;
  readonly at: number;
};
/** By config_key. Written by `model_rollback` and by the command of that name. */
export const rollbacks = defineTable<Rollback>("pipeline_rollbacks");

/** Where the next run begins. */
export function startOf(
  line: TrainingLine,
  rollback: Rollback | undefined,
): { readonly model: string | null; readonly checkpoint: string | null; readonly rollback: number } {
  if (rollback === undefined || rollback.generation <= line.rollback)
    return { model: line.model, checkpoint: line.checkpoint, rollback: line.rollback };
  return { model: rollback.restored, checkpoint: rollback.checkpoint, rollback: rollback.generation };
}

import { defineTable } from "../../router/index.ts";

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

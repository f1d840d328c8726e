/** The way of one iteration of a config, as the events of the seeds draw it. */
export const STAGES = ["selfplay", "data_sync", "npz_export", "training", "evaluation", "promotion"] as const;
export type Stage = (typeof STAGES)[number];

/** The stage after this one; undefined after the last. */
export const stageAfter = (stage: Stage): Stage | undefined => STAGES[STAGES.indexOf(stage) + 1];

/** Kinds of jobs that a workload may do for the loop. Without `validation` or `export` those stages only check hashes. */
export const LOOP_KINDS = ["selfplay", "validation", "export", "training", "evaluation"] as const;

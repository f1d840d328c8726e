import type { Json } from "../kernel/index.ts";
import { defineTable } from "../router/index.ts";
import type { Iteration, StageFailure, Wait } from "./iteration.ts";

/** A file in the store, by its hash, and what is known of it. */
export type ArtifactRef = {
  readonly sha256: string;
  readonly kind: string;
  readonly bytes: number;
  readonly rows: number;
};

/** The work on one stage of one config, written by the one unit whose stage it is. Times are milliseconds since the epoch. */
export type StageWork<Own extends Record<string, Json> = Record<string, Json>> = {
  readonly iteration: number;
  readonly attempt: number;
  readonly state: "running" | "done" | "failed";
  readonly since: number;
  readonly ended_at: number | null;
  /** Jobs in the queue, by the part of the work that each does. */
  readonly jobs: { readonly [part: string]: string };
  readonly outputs: readonly ArtifactRef[];
  /** What proves that it is done: numbers and words that people may read. */
  readonly evidence: { readonly [name: string]: Json };
  readonly failure: StageFailure | null;
  /** What it waits for right now. */
  readonly waits: readonly Wait[];
  readonly own: Own;
};

/** Games of one self-play job, as they travel through selfplay, data_sync and export. */
export type Segment = {
  /** Place in the batch; a part that is played again keeps its name and its seeds. */
  readonly part: string;
  readonly work_id: string;
  readonly producer: string;
  readonly games: number;
  readonly rows: number;
  readonly games_file: ArtifactRef | null;
  readonly samples_file: ArtifactRef;
};

/** Written by `selfplay_orchestrator`. */
export type SelfplayOwn = {
  readonly segments: readonly Segment[];
  /** Nodes that may not play this iteration again, as their games were rejected. */
  readonly excluded: readonly string[];
};
export const selfplayWork = defineTable<StageWork<SelfplayOwn>>("pipeline_selfplay");

/** Written by `quality_monitor_daemon`, the last to judge a segment. */
export type SyncOwn = {
  readonly accepted: readonly Segment[];
  readonly rejected: readonly {
    readonly part: string;
    readonly producer: string;
    readonly games: number;
    readonly reason: string;
  }[];
};
export const syncWork = defineTable<StageWork<SyncOwn>>("pipeline_data_sync");

/** A training file of one or several iterations. */
export type Shard = ArtifactRef & {
  readonly first_iteration: number;
  readonly last_iteration: number;
  readonly holdout: ArtifactRef | null;
};

/** Written by `auto_export_daemon`: the window that training sees, oldest first, and all rows ever made. */
export type ExportOwn = {
  readonly window: readonly Shard[];
  readonly total_rows: number;
  readonly new_rows: number;
};
export const exportWork = defineTable<StageWork<ExportOwn>>("pipeline_export");

/** Written by `training_coordinator`. */
export type TrainingOwn = {
  readonly model: string | null;
  /** Where the next run goes on. */
  readonly checkpoint: string | null;
};
export const trainingWork = defineTable<StageWork<TrainingOwn>>("pipeline_training");

/** Written by `evaluation_daemon`. */
export type EvaluationOwn = {
  readonly candidate: string;
  readonly opponent: string;
  /** Blocks by score cell, over whole batches. */
  readonly counts: readonly number[];
  readonly batches: number;
  readonly llr: readonly number[];
  readonly verdict: "promote" | "reject" | "inconclusive" | null;
};
export const evaluationWork = defineTable<StageWork<EvaluationOwn>>("pipeline_evaluation");

/** Written by `auto_promotion`. */
export type PromotionOwn = { readonly promoted: boolean; readonly model: string; readonly champion: string };
export const promotionWork = defineTable<StageWork<PromotionOwn>>("pipeline_promotion");

/** The tables of the stages, by stage, for those who only read. */
export const workOf = {
  selfplay: selfplayWork,
  data_sync: syncWork,
  npz_export: exportWork,
  training: trainingWork,
  evaluation: evaluationWork,
  promotion: promotionWork,
} as const;

/** Whether this work is for the turn that the iteration is at. */
export const isFor = (
  work: Pick<StageWork, "iteration" | "attempt"> | undefined,
  { iteration, attempt }: Pick<Iteration, "iteration" | "attempt">,
): boolean => work !== undefined && work.iteration === iteration && work.attempt === attempt;

export const beginWork = <Own extends Record<string, Json>>(
  { iteration, attempt }: Iteration,
  now: number,
  own: Own,
): StageWork<Own> => ({
  iteration,
  attempt,
  state: "running",
  since: now,
  ended_at: null,
  jobs: {},
  outputs: [],
  evidence: {},
  failure: null,
  waits: [],
  own,
});

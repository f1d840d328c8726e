import type { Json } from "../../kernel/index.ts";
import { defineTable, type StateTable } from "../../router/index.ts";
import type { Iteration, StageFailure } from "./iteration.ts";
import type { Jobs } from "./jobs.ts";
import type { Stage } from "./stages.ts";
import { type Wait, type Waiting, waitsSince } from "./waits.ts";

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
  readonly jobs: Jobs;
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
  /** The model that played it, where that is another one than plays the iteration. */
  readonly model?: string;
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
export const workOf: Readonly<Record<Stage, StateTable<StageWork>>> = {
  selfplay: selfplayWork,
  data_sync: syncWork,
  npz_export: exportWork,
  training: trainingWork,
  evaluation: evaluationWork,
  promotion: promotionWork,
};

/** A turn: one attempt of one iteration. */
type Attempt = Pick<Iteration, "iteration" | "attempt">;

/** The name of one undertaking: what a stage does for one attempt of one iteration. */
export const undertakingOf = (configKey: string, { iteration, attempt }: Attempt, stage: Stage): string =>
  `${configKey}:${iteration}:${stage}:${attempt}`;

/** Marks a row that was found to be of the turn: what is not may still be a row of another one. */
declare const ofTurn: unique symbol;

/** Whether a row is of the turn that the iteration is at. */
export const isFor = <R extends Attempt>(
  row: R | undefined,
  at: Attempt | undefined,
): row is R & { readonly [ofTurn]: true } =>
  row !== undefined && row.iteration === at?.iteration && row.attempt === at.attempt;

type Own = Record<string, Json>;

export const beginWork = <O extends Own>({ iteration, attempt }: Attempt, now: number, own: O): StageWork<O> => ({
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

/** The row of what is under way, and what it waits for now. */
export const waiting = <R extends { readonly waits: readonly Wait[] }>(
  row: R,
  now: number,
  ...waits: readonly Waiting[]
): R => ({ ...row, waits: waitsSince(row.waits, now, waits) });

/** The work at its end, with what proves it. */
export const done = <O extends Own>(
  work: StageWork<O>,
  now: number,
  ended: Partial<Pick<StageWork<O>, "outputs" | "evidence" | "own">>,
): StageWork<O> => ({ ...work, ...ended, state: "done", ended_at: now, waits: [], failure: null });

export const failed = <O extends Own>(work: StageWork<O>, now: number, failure: StageFailure): StageWork<O> => ({
  ...work,
  state: "failed",
  ended_at: now,
  waits: [],
  failure,
});

/** What the stage before this one has left, as far as it is of this iteration and done. */
export const doneIn = <O extends Own>(
  work: StageWork<O> | undefined,
  { iteration }: Pick<Iteration, "iteration">,
): StageWork<O> | undefined => (work?.iteration === iteration && work.state === "done" ? work : undefined);

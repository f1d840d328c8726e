/** The rows of self-play, and what those who judge its games leave for whoever plays the next ones. All are by config_key. */
import type { Json } from "../../kernel/index.ts";
import { defineTable } from "../../router/index.ts";
import type { Urgency } from "../../work/index.ts";
import type { Wait } from "../stage/index.ts";
import type { GameRange } from "./cut-into-jobs.ts";

/**
 * What was asked for in an iteration, and the jobs that were put into the queue for it. Taken from the plan once: a plan
 * that changes meanwhile changes the next iteration, and never lets one iteration hold games of two kinds. Written by
 * `queue_populator`.
 */
export type SelfplayOrder = {
  readonly iteration: number;
  readonly attempt: number;
  readonly since: number;
  /** All parts of the iteration. */
  readonly parts: readonly GameRange[];
  readonly seed: number;
  /** SHA-256 of the model that plays. */
  readonly model: string;
  /** Parts that another model plays, since this one was champion no more for too long. */
  readonly played_by?: { readonly [part: string]: string };
  readonly parameters: { readonly [name: string]: Json };
  /** Files that its games draw on beside the model. Rows of older versions have none. */
  readonly inputs?: readonly { readonly name: string; readonly sha256: string }[];
  /** Parts that this attempt has to bring; the place in this list numbers their jobs. */
  readonly wanted: readonly string[];
  /** Whether all its jobs are its own; one that goes on with jobs of an earlier attempt is not. */
  readonly whole: boolean;
  /** The jobs that were put out, by part. */
  readonly jobs: { readonly [part: string]: string };
};
export const selfplayOrders = defineTable<SelfplayOrder>("pipeline_selfplay_orders");

export type Trend = "improving" | "stable" | "declining";

/** What is wanted of a config, and how far it is. Written by `queue_populator`. */
export type Goal = {
  /** Games of an iteration; 0 when nothing more is asked for. */
  readonly target_games: number;
  readonly reason: string;
  /** The goal was met, by whom and when; null before that. */
  readonly met: { readonly model_id: string; readonly elo_low: number } | null;
  readonly gap: { readonly estimate: number; readonly low: number; readonly high: number } | null;
  readonly velocity: { readonly elo_per_day: number; readonly trend: Trend } | null;
  /** Why the queue is not filled further. */
  readonly waits: readonly Wait[];
};
export const goals = defineTable<Goal>("pipeline_goals");

/** What a node said of how idle it is, and when it was asked for it. By node; written by `selfplay_scheduler`. */
export type IdleNode = { readonly free_slots: number; readonly at: number; readonly asked_at: number };
export const idleNodes = defineTable<IdleNode>("pipeline_idle_nodes");

/** One factor of a config's score, with the number that it follows from. */
export type Reason = {
  readonly name:
    | "weight"
    | "curriculum"
    | "exploration"
    | "staleness"
    | "gap"
    | "velocity"
    | "quality"
    | "mix"
    | "training"
    | "penalty"
    | "stage"
    | "floor"
    | "pressure";
  readonly actual: number | string | null;
  readonly factor: number;
};

/** A config's part of all self-play. Written by `selfplay_scheduler`. */
export type AllocationRow = {
  readonly share: number;
  /** What a penalty leaves of its pace, 0 to 1. Rows of older versions have none. */
  readonly rate?: number;
  readonly games: number;
  readonly urgency: Urgency;
  readonly reasons: readonly Reason[];
  /** Configs that share. */
  readonly configs: number;
  /** The last share and urgency that were told, and when. */
  readonly told: { readonly share: number; readonly urgency: Urgency; readonly at: number };
  /** Jobs of it that may be in the queue at once, as they were told last. Rows of older versions have none. */
  readonly jobs?: number;
  /** The last batch that was told, so that it is told once. */
  readonly batch: string | null;
};
export const allocations = defineTable<AllocationRow>("pipeline_allocations");

/** A segment that was not accepted, and why. */
export type Rejection = {
  readonly attempt: number;
  readonly part: string;
  readonly work_id: string;
  readonly producer: string;
  readonly games: number;
  readonly reason: string;
  /** SHA-256 of its samples: whoever makes the same bytes again proves that they follow from the seeds. */
  readonly samples: string;
};
/** All rejections of the iteration that a config is at. Written by `quality_monitor_daemon`. */
export type Rejections = { readonly iteration: number; readonly entries: readonly Rejection[] };
export const rejections = defineTable<Rejections>("pipeline_rejections");

export const rejectionsOf = (row: Rejections | undefined, iteration: number): readonly Rejection[] =>
  row?.iteration === iteration ? row.entries : [];

/** A producer whose games were rejected, as people and `why` see it. */
export type Suspect = {
  readonly producer: string;
  readonly reasons: readonly string[];
  /** How often it was found guilty. */
  readonly times: number;
  /** Iterations in which it was found guilty first and last. */
  readonly first_iteration: number;
  readonly last_iteration: number;
  /** It plays nothing of this config before this iteration. */
  readonly until_iteration: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** What its penalty leaves of the config's pace, 0 to 1, in the iteration of its guilt and the next. Older rows have none. */
  readonly rate?: number;
  /** What of its games was accepted since its first bad ones: people may want to look at it. */
  readonly accepted: readonly { readonly iteration: number; readonly part: string; readonly samples: string }[];
};
/** Producers of a config under suspicion, by name. Written by `quality_monitor_daemon`. */
export type Suspects = { readonly [producer: string]: Suspect };
export const suspects = defineTable<Suspects>("pipeline_suspects");

/** Who plays nothing of the config in this iteration. */
export const suspectsIn = (row: Suspects | undefined, iteration: number): string[] =>
  Object.values(row ?? {})
    .filter(({ until_iteration }) => iteration < until_iteration)
    .map(({ producer }) => producer)
    .sort();

/** What the penalties of an iteration leave of the config's pace, all together; 1 where there is none. */
export const penaltyRate = (row: Suspects | undefined, iteration: number): number =>
  Object.values(row ?? {})
    .filter(({ last_iteration }) => last_iteration <= iteration && iteration <= last_iteration + 1)
    .reduce((rate, { rate: own = 1 }) => rate * own, 1);

export const QUALITY_BANDS = ["poor", "degraded", "good", "excellent"] as const;
export type QualityBand = (typeof QUALITY_BANDS)[number];

/** How good the newest data of a config is. Absent while nothing of it was ever checked. Written by `quality_monitor_daemon`. */
export type Quality = {
  /** 0 to 1. */
  readonly score: number;
  readonly band: QualityBand;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly iteration: number;
  readonly games: number;
  /** The parts of the score, each 0 to 1; null where nothing was measured. */
  readonly components: { readonly [name: string]: number | null };
  /** Shares of the games in good (at least 0.7) and in poor segments (below 0.5). */
  readonly good_share: number;
  readonly poor_share: number;
};
export const qualities = defineTable<Quality>("pipeline_quality");

import type { Json } from "../../kernel/index.ts";
import { defineTable } from "../../router/index.ts";
import type { Shard } from "./work.ts";

/** Values by the names of a workload's parameters. */
export type TunedValues = { readonly [parameter: string]: number };

/** What is searched for: parameters of self-play, settings of training, or the shape of the network. */
export type SearchMethod = "cmaes" | "pbt" | "nas";

/** A search that somebody asked for. By config_key; written by `optimization_coordinator`. */
export type SearchOrder = {
  readonly run_id: string;
  /** Missing in rows of older versions, which knew `cmaes` alone. */
  readonly method?: SearchMethod;
  /** The iteration in which each method was begun last. */
  readonly begun?: { readonly [method in SearchMethod]?: number };
  /** What members of a population train on, and where they begin; null where a search trains nobody. */
  readonly data?: {
    readonly window: readonly Shard[];
    readonly total_rows: number;
    readonly new_rows: number;
    readonly checkpoint: string | null;
  } | null;
  /** Shapes of networks that are tried; missing where the search tries none, and in rows of older versions. */
  readonly shapes?: { readonly [name: string]: TunedValues };
  /** Of this config, from 1: what is drawn follows from it. */
  readonly number: number;
  /** The iteration in which it was asked for: what it finds counts from the next one on. */
  readonly iteration: number;
  /** The model that plays all games of the search. */
  readonly model: string;
  /** Parameters that count now, against which others are tried. */
  readonly incumbent: TunedValues;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** When the person asked for it whose wish it is; null if it was nobody. */
  readonly requested_at: number | null;
  /** What became of it: null while it is under way. */
  readonly outcome: "applied" | "kept" | "failed" | null;
  /** Why it ended so. */
  readonly ended: string | null;
};
export const searchOrders = defineTable<SearchOrder>("pipeline_search_orders");

/** Somebody's wish for a search. By config_key; written by the command `steering search`. */
export type SearchRequest = {
  readonly by: string;
  readonly at: number;
  readonly reason: string;
  readonly method?: SearchMethod;
};
export const searchRequests = defineTable<SearchRequest>("pipeline_search_requests");

/** Parameters that a search has proven better than those before them. */
export type TuningStep = {
  readonly values: TunedValues;
  /** The first iteration that is played with them. */
  readonly from_iteration: number;
  readonly run_id: string;
  readonly evidence: { readonly [name: string]: Json };
  readonly at: number;
};
/** Oldest first: games of an earlier iteration are made again with what they were played with. By config_key; written by
 * `optimization_coordinator`. */
export type Tuning = { readonly steps: readonly TuningStep[] };
export const tunings = defineTable<Tuning>("pipeline_tunings");

/** A search that takes longer is given up: the loop does not wait for it for ever. */
export const MAX_SEARCH_MS = 3_600_000;

/** Whether the games of an iteration wait for a search: it was begun before the iteration, and has not ended. */
export const awaitsSearch = (order: SearchOrder | undefined, iteration: number, now: number): order is SearchOrder =>
  order !== undefined && order.outcome === null && order.iteration < iteration && now - order.at < MAX_SEARCH_MS;

/** The tuned parameters that an iteration is played with. */
export const tunedIn = (tuning: Tuning | undefined, iteration: number): TunedValues =>
  tuning?.steps.findLast(({ from_iteration }) => from_iteration <= iteration)?.values ?? {};

/** Settings of training, or a network to go on with, that games have proven better. */
export type TrainingStep = {
  readonly values: TunedValues;
  /** The first iteration that is trained with them. */
  readonly from_iteration: number;
  readonly run_id: string;
  /** The network that the line of training goes on from; null where it goes on as it is. */
  readonly start: { readonly architecture: string; readonly model: string; readonly checkpoint: string } | null;
  readonly evidence: { readonly [name: string]: Json };
  readonly at: number;
};
/** Oldest first. By config_key; written by `optimization_coordinator`. */
export type TrainingTuning = { readonly steps: readonly TrainingStep[] };
export const trainingTunings = defineTable<TrainingTuning>("pipeline_training_tunings");

/** The settings that an iteration is trained with, beside those of the plan: of each the newest. */
export const trainedWith = (tuning: TrainingTuning | undefined, iteration: number): TunedValues =>
  Object.assign(
    {},
    ...(tuning?.steps ?? []).filter((step) => step.from_iteration <= iteration).map(({ values }) => values),
  );

/** The network that a search found, which the line of training goes on from if it has not done so yet. */
export const startFound = (
  tuning: TrainingTuning | undefined,
  iteration: number,
  lineIteration: number,
): TrainingStep["start"] =>
  tuning?.steps.findLast(
    ({ start, from_iteration }) => start !== null && from_iteration <= iteration && from_iteration > lineIteration,
  )?.start ?? null;

/** Whether the line of training has gone on from a network that a search found, or does so in this iteration. */
export const hasFound = (tuning: TrainingTuning | undefined, iteration: number): boolean =>
  tuning?.steps.some(({ start, from_iteration }) => start !== null && from_iteration <= iteration) ?? false;

/** What gates say of the architectures of a config. By config_key; written by `gauntlet_feedback`, once an iteration. */
export type ArchitectureWeights = {
  readonly iteration: number;
  /** Share of the work that each should have, by name. */
  readonly weights: { readonly [architecture: string]: number };
  readonly architecture: string;
  /** Whether the line of training goes back to the champion in this iteration. */
  readonly back: boolean;
};
export const architectureWeights = defineTable<ArchitectureWeights>("pipeline_architecture_weights");

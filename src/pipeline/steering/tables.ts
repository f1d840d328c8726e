/** The rows of steering. */
import type { Json } from "../../kernel/index.ts";
import { defineTable } from "../../router/index.ts";
import type { ArtifactRef, Jobs, Shard, StageFailure, Wait } from "../stage/index.ts";
import type { PopulationRun } from "./search/population.ts";
import type { Proof, SearchRun } from "./search/run.ts";

/** What was told last of a config's weight. Written by `curriculum_integration`, by config_key. */
export type Curriculum = {
  readonly weight: number;
  /** The weight before that. */
  readonly previous: number;
  /** What a person held it at when it was looked at last; null for nobody. */
  readonly held: number | null;
};
export const curricula = defineTable<Curriculum>("pipeline_curricula");

/** What is measured of a config, once an iteration. */
export const METRICS = ["elo", "loss", "quality", "games_per_second", "retries"] as const;
export type Metric = (typeof METRICS)[number];

/** Where a measure goes. */
export type Trend = {
  readonly value: number;
  readonly iteration: number;
  readonly points: number;
  /** Growth for one iteration with its 95 % interval, more is better; null while too few points are there. */
  readonly slope: { readonly estimate: number; readonly low: number; readonly high: number } | null;
  readonly trend: "improving" | "stable" | "declining";
  readonly best: { readonly value: number; readonly iteration: number; readonly at: number };
  /** The iteration in which it was found to stand still; null while it does not. */
  readonly plateau_since: number | null;
  /** What the newest value was expected to be, where it is far off. */
  readonly anomaly: { readonly expected: number; readonly deviations: number } | null;
};

/** The measurements of a config. Written by `metrics_orchestrator`, by config_key. */
export type Measures = {
  readonly trends: { readonly [metric in Metric]?: Trend };
  /** Values that nothing else keeps, oldest first; a window of each. */
  readonly seen: {
    readonly [metric in Metric]?: readonly {
      readonly iteration: number;
      readonly value: number;
      readonly at: number;
    }[];
  };
  /** Tries of jobs that failed and were repeated, in this iteration. */
  readonly retried: { readonly iteration: number; readonly times: number };
  /** The best score of each generation of the newest population; missing before the first. */
  readonly population?: { readonly run_id: string; readonly members: number; readonly best: readonly number[] };
};
export const measures = defineTable<Measures>("pipeline_measures");

/** The newest gate that was heard, and the tier it left. Written by `gauntlet_feedback`, by config_key. */
export type Gauntlet = {
  readonly iteration: number;
  readonly strength: "strong" | "weak" | "even";
  readonly tier: number;
  /** Training asked for a harder tier, in which iteration and why; gone when the config has risen. */
  readonly asked?: { readonly iteration: number; readonly reason: string };
  /** The model of a related config that this one began with, once it was told. */
  readonly related?: string;
};
export const gauntlets = defineTable<Gauntlet>("pipeline_gauntlets");

/** Configs whose exploration follows gates, with the temperature of now. Written by `exploration_scheduler`, by config_key. */
export type Exploration = { readonly scheduler: string; readonly temperature: number | null };
export const explorations = defineTable<Exploration>("pipeline_explorations");

/** What was told last of a config's exploration and pace. Written by `feedback_loop`, by config_key. */
export type Feedback = {
  /** The newest gate that was heard. */
  readonly iteration: number;
  readonly plateau: boolean;
  readonly exploration: number;
  readonly search: number;
  readonly difficulty: "normal" | "medium-hard" | "hard";
  readonly rate: number;
};
export const feedbacks = defineTable<Feedback>("pipeline_feedbacks");

/** The search of a config that is under way, or the last one. Written by `population_search`, by config_key. */
export const searchRuns = defineTable<SearchRun>("pipeline_searches");

/** The population of a config that is under way, or the last one. Written by `population_search`, by config_key. */
export const populationRuns = defineTable<PopulationRun>("pipeline_populations");

/** The network that is made of a champion, or the last one. Written by `derived_training`, by config_key. */
export type DerivedRun = {
  readonly run_id: string;
  readonly kind: "distillation" | "nnue";
  readonly number: number;
  readonly iteration: number;
  /** The champion that it is made of and measured against. */
  readonly teacher: string;
  readonly state: "training" | "playing" | "ended" | "failed";
  readonly window: readonly Shard[];
  readonly total_rows: number;
  readonly new_rows: number;
  readonly jobs: Jobs;
  readonly model: (ArtifactRef & { readonly checkpoint: string | null; readonly work_id: string }) | null;
  readonly losses: { readonly [name: string]: Json };
  readonly scores: { readonly [part: string]: number };
  readonly counts: readonly number[];
  readonly repeated: number;
  readonly games: number;
  readonly proof: Proof | null;
  readonly failure: StageFailure | null;
  readonly waits: readonly Wait[];
  readonly since: number;
  readonly ended_at: number | null;
  /** The iteration in which each kind was begun last. */
  readonly begun: { readonly [kind: string]: number };
};
export const derivedRuns = defineTable<DerivedRun>("pipeline_derived_runs");

/** The last time that a config stopped improving. Written by `optimization_coordinator`, by config_key. */
export type Plateau = { readonly metric: string; readonly iteration: number; readonly at: number };
export const plateaus = defineTable<Plateau>("pipeline_plateaus");

/** Baselines that champions of a config beat reliably, by name, and which of them did first. Written by `gauntlet_feedback`, by config_key. */
export type Mastered = {
  readonly [opponent: string]: {
    readonly model: string;
    readonly games: number;
    readonly win_rate: number;
    /** Milliseconds since the epoch. */
    readonly at: number;
  };
};
export const mastered = defineTable<Mastered>("pipeline_mastered");

import type { Json } from "../../kernel/index.ts";
import { defineTable } from "../../router/index.ts";

/** Values by the names of a workload's parameters. */
export type TunedValues = { readonly [parameter: string]: number };

/** A search for better parameters that somebody asked for. By config_key; written by `optimization_coordinator`. */
export type SearchOrder = {
  readonly run_id: string;
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
export type SearchRequest = { readonly by: string; readonly at: number; readonly reason: string };
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

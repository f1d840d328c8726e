import { defineTable } from "../../router/index.ts";
import type { ArtifactRef, Shard, StageWork } from "../stage/index.ts";
import type { Figures } from "./figures.ts";

/** What the check of one segment came to. */
export type Check = {
  /** SHA-256 of the samples that were checked: the same bytes need no second look. */
  readonly samples: string;
  readonly validator: string;
  /** Its own producer checked it, because no other worker for such jobs was there. */
  readonly self_checked?: boolean;
  /** Null for a segment whose files cannot be read. */
  readonly figures: Figures | null;
  readonly unreadable: string | null;
};

/** The checks of a batch. Written by `parity_validator`. */
export type ParityRow = Pick<
  StageWork,
  "iteration" | "attempt" | "state" | "since" | "ended_at" | "jobs" | "failure" | "waits"
> & {
  readonly checked: { readonly [part: string]: Check };
  /** Who found faults in a part of this iteration before: when it comes back, somebody else looks at it. */
  readonly doubted: { readonly [part: string]: readonly string[] };
  /** Parts that nobody can check, and why. */
  readonly unchecked: { readonly [part: string]: string };
  /** Share of the checked games that were wrong, in the last batch that was checked. */
  readonly failure_rate: number;
};
/** By config_key. */
export const parities = defineTable<ParityRow>("pipeline_parity");

/** The window before an iteration's own shard, so that an iteration that is exported again begins where it began. */
export type ExportBase = {
  readonly iteration: number;
  readonly window: readonly Shard[];
  readonly total_rows: number;
};
/** By config_key. Written by `auto_export_daemon`. */
export const exportBases = defineTable<ExportBase>("pipeline_export_base");

/** Rows of games that were brought, and that no training file has yet. */
export type FreshRows = ArtifactRef & { readonly games: number };

/** The canonical set of what was brought to a config: every game once. Times are milliseconds since the epoch. */
export type Consolidation = {
  readonly state: "idle" | "running" | "failed";
  /** The set so far. Games are null where only rows are known. */
  readonly set: { readonly games: ArtifactRef | null; readonly samples: ArtifactRef; readonly count: number } | null;
  readonly fresh: readonly FreshRows[];
  /** What is being merged, under which name, by which job, and since when. */
  readonly job: string | null;
  readonly job_id: string;
  readonly sources: readonly string[];
  readonly since: number;
  readonly rounds: number;
  readonly tries: number;
  readonly not_before: number | null;
  readonly failure: string | null;
};
/** By config_key. Written by `data_consolidation`. */
export const consolidations = defineTable<Consolidation>("pipeline_consolidations");

/** Rows that were brought and are in a training file by now, by their hash. By config_key; written by `auto_export_daemon`. */
export type BroughtExports = { readonly files: readonly string[] };
export const broughtExports = defineTable<BroughtExports>("pipeline_brought_exports");

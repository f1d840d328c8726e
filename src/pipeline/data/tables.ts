import { defineTable } from "../../router/index.ts";
import type { Shard, StageWork } from "../stage/index.ts";
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

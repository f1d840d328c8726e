import { defineTable } from "../../router/index.ts";
import type { StageFailure, Wait } from "../iteration.ts";
import type { Figures } from "./figures.ts";

/** What the check of one segment came to. */
export type Check = {
  /** SHA-256 of the samples that were checked: the same bytes need no second look. */
  readonly samples: string;
  readonly validator: string;
  /** Null for a segment whose files cannot be read. */
  readonly figures: Figures | null;
  readonly unreadable: string | null;
};

/** The checks of a batch. Written by `parity_validator`. */
export type ParityRow = {
  readonly iteration: number;
  readonly attempt: number;
  readonly state: "running" | "done" | "failed";
  readonly since: number;
  readonly ended_at: number | null;
  readonly jobs: { readonly [part: string]: string };
  readonly checked: { readonly [part: string]: Check };
  /** Who found faults in a part of this iteration before: when it comes back, somebody else looks at it. */
  readonly doubted: { readonly [part: string]: readonly string[] };
  /** Parts that nobody can check, and why. */
  readonly unchecked: { readonly [part: string]: string };
  readonly failure: StageFailure | null;
  readonly waits: readonly Wait[];
  /** Share of the checked games that were wrong, in the last batch that was checked. */
  readonly failure_rate: number;
};
/** By config_key. */
export const parities = defineTable<ParityRow>("pipeline_parity");

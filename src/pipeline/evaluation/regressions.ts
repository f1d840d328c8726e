import { defineTable } from "../../router/index.ts";
import type { Wait } from "../stage/index.ts";
import type { Severity } from "../statistics/index.ts";

/** How a champion stands beside the last good one. Times are milliseconds since the epoch. */
export type Regression = {
  /** The champion that is judged. */
  readonly generation: number;
  readonly model: string;
  /** The last good champion; null where there is none to compare with. */
  readonly baseline: string | null;
  readonly gated: boolean;
  readonly state: "watching" | "unopposed" | "cleared" | "passed" | "undecided" | "regressed";
  readonly severity: Severity;
  /** Why it is judged so, with its numbers. */
  readonly reason: string;
  readonly counts: readonly number[];
  readonly batches: number;
  readonly batch_blocks: number;
  readonly games: number;
  readonly jobs: { readonly [part: string]: string };
  /** A game of the champion against itself, to tell a broken champion from a broken opponent; the job while it runs. */
  readonly probe: { readonly number: number; readonly work_id: string | null };
  /** Opponents whose games could not be played although the champion's could. */
  readonly excluded: readonly string[];
  /** How often games were ordered again. */
  readonly retries: number;
  readonly waits: readonly Wait[];
  readonly since: number;
  readonly ended_at: number | null;
};

/** By config_key. Written by `model_performance_watchdog`. */
export const regressions = defineTable<Regression>("pipeline_regressions");

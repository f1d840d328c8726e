/** The rows of promotion. All are by config_key. */
import { defineTable } from "../../router/index.ts";
import type { Wait } from "../stage/index.ts";

/** Named baselines that a config's champions have passed, each with the first that did. Written by `auto_promotion`. */
export type Tiers = {
  readonly passed: readonly {
    readonly tier: string;
    readonly model: string;
    readonly elo: number;
    readonly low: number;
    readonly at: number;
  }[];
};
export const tiers = defineTable<Tiers>("pipeline_tiers");

/** A champion that should go and cannot, and why. Written by `model_rollback`. */
export type RefusedRollback = { readonly generation: number; readonly waits: readonly Wait[] };
export const refusedRollbacks = defineTable<RefusedRollback>("pipeline_refused_rollbacks");

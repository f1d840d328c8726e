import { defineTable } from "../../router/index.ts";
import type { Urgency } from "../../work/index.ts";
import type { Reason } from "./allocation.ts";

/** A config's part of all self-play. Written by `selfplay_scheduler`. */
export type AllocationRow = {
  readonly share: number;
  readonly games: number;
  readonly urgency: Urgency;
  readonly reasons: readonly Reason[];
  /** Configs that share. */
  readonly configs: number;
  /** The last share and urgency that were told, and when. */
  readonly told: { readonly share: number; readonly urgency: Urgency; readonly at: number };
  /** The last batch that was told, so that it is told once. */
  readonly batch: string | null;
};
/** By config_key. */
export const allocations = defineTable<AllocationRow>("pipeline_allocations");

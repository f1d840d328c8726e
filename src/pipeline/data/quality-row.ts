import { defineTable } from "../../router/index.ts";

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
/** By config_key. */
export const qualities = defineTable<Quality>("pipeline_quality");

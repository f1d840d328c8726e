import { sumOf } from "../../kernel/index.ts";
import { defineTable, type Store } from "../../router/index.ts";
import { playersOf, ratingAllowance } from "../models/index.ts";
import type { ConfigLook, Wait } from "../stage/index.ts";
import { batchOf } from "./gate.ts";
import { gamesByPurpose } from "./ledger.ts";
import { regressions } from "./regressions.ts";

/** What is known of a rating that was told. */
export type EmittedRating = { readonly model: string; readonly elo: number };

/** Rating games on order, and what was told of the ratings. */
export type RatingWork = {
  /** The number of the next job; seeds follow from it. */
  readonly next: number;
  readonly open: {
    readonly [part: string]: {
      readonly work_id: string;
      readonly candidate: string;
      readonly opponent: string;
      readonly blocks: number;
    };
  };
  readonly failures: { readonly [player: string]: number };
  /** Where the next games tell most, as of the last ratings. */
  readonly wanted: readonly (readonly [string, string])[];
  readonly told: EmittedRating | null;
  readonly significant: EmittedRating | null;
  readonly waits: readonly Wait[];
  /** Baselines that champions beat reliably. Missing in rows of older versions. */
  readonly mastered?: readonly string[];
};
/** By config_key. Written by `elo_service`. */
export const ratingWork = defineTable<RatingWork>("pipeline_rating_work");

/**
 * Games that ratings and checks of champions may still have together, those on order counted as played. All other games are
 * those of gates, and of self-play as the plan has them: what is done does not depend on how far a round is.
 */
export function ratingGamesLeft(
  { configKey, plan, at, row }: Pick<ConfigLook, "configKey" | "plan" | "at" | "row">,
  store: Pick<Store, "read">,
): number {
  const players = playersOf(configKey);
  const { gate, rating, regression } = gamesByPurpose(store, configKey);
  const others = gate + (at?.iteration ?? 0) * plan.games_per_iteration;
  const open = Object.values(row(ratingWork)?.open ?? {});
  const ordered = sumOf(open, ({ blocks }) => blocks * players);
  const check = row(regressions);
  const isOrdered =
    check?.state === "watching" && Object.keys(check.jobs).some((part) => batchOf(part) >= check.batches);
  const checked = isOrdered ? check.batch_blocks * players : 0;
  return ratingAllowance(plan.rating_share, { others, rating: rating + regression + ordered + checked });
}

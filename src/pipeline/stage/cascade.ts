/** From few players to many: a config begins with the network of one with fewer players, once that one's gates say that it is good enough. */
import { defineTable } from "../../router/index.ts";
import type { ConfigKey, ConfigPlan } from "./plan.ts";

/** What a config of more players begins with. By config_key; written once, by `derived_training`. */
export type CascadeStart = {
  readonly config_key: ConfigKey;
  /** Of the other config: what gates had made champion by its end counts. */
  readonly iteration: number;
  readonly promotions: number;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
};
export const cascadeStarts = defineTable<CascadeStart>("pipeline_cascade_starts");

/** Whose champion, and after which iteration, the first network of a config is made from; null where from none, or where nobody knows it yet. */
export const startFromOf = (
  { start_from }: Pick<ConfigPlan, "start_from">,
  cascade: CascadeStart | undefined,
): { readonly config_key: ConfigKey; readonly iteration: number } | null =>
  // A plan of an older version says nothing of it.
  start_from ?? cascade ?? null;

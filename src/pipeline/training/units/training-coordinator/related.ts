import { championAfter } from "../../../models/index.ts";
import {
  type ConfigLook,
  cascadeStarts,
  iterations,
  type StageServices,
  startFromOf,
  type Waiting,
} from "../../../stage/index.ts";

/**
 * The network that the first one of a config is made from: what gates had made champion of the related config by the end of the
 * iteration that the plan or the cascade names. It is waited for, so that it does not matter which config is faster. Undefined where the plan
 * names none.
 */
export function relatedModel(
  { store }: Pick<StageServices, "store">,
  { plan, row, rows }: Pick<ConfigLook, "plan" | "row" | "rows">,
): string | Waiting | undefined {
  const from = startFromOf(plan, row(cascadeStarts));
  if (from === null) return plan.cascade == null ? undefined : cascadeWait(plan.cascade, rows);
  const { config_key, iteration } = from;
  const at = rows.get(iterations, config_key);
  const isOver =
    at !== undefined && (at.iteration > iteration || (at.iteration === iteration && at.state === "complete"));
  const model = isOver ? championAfter(store, config_key, iteration) : undefined;
  if (model !== undefined) return model;
  return {
    for: "related_champion",
    actual: at === undefined ? `${config_key} does not train here` : `${config_key} is in iteration ${at.iteration}`,
    required: `the end of its iteration ${iteration}`,
  };
}

/** `derived_training` reads the gates of the config with fewer players, and says when it is good enough. */
const cascadeWait = (
  { config_key, promotions }: NonNullable<ConfigLook["plan"]["cascade"]>,
  rows: ConfigLook["rows"],
): Waiting => {
  const at = rows.get(iterations, config_key);
  return {
    for: "cascade",
    actual: at === undefined ? `${config_key} does not train here` : `${config_key} is in iteration ${at.iteration}`,
    required: `${promotions} promotions of it, a plateau, or its end`,
  };
};

import { championAfter } from "../../../models/index.ts";
import { type ConfigLook, iterations, type StageServices, type Waiting } from "../../../stage/index.ts";

/**
 * The network that the first one of a config is made from: what gates had made champion of the related config by the end of the
 * iteration that the plan names. It is waited for, so that it does not matter which config is faster. Undefined where the plan names none.
 */
export function relatedModel(
  { store }: Pick<StageServices, "store">,
  { plan, rows }: Pick<ConfigLook, "plan" | "rows">,
): string | Waiting | undefined {
  // A plan of an older version says nothing of it.
  const from = plan.start_from ?? null;
  if (from === null) return undefined;
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

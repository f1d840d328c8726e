import type { Store } from "../../router/index.ts";
import { type Stability, stabilityOf } from "../statistics/index.ts";
import { gateVerdicts } from "./verdicts.ts";

/**
 * How steady the gains of a config were up to an iteration. What came later says nothing of a champion of before, and would
 * make its check depend on when it is looked at.
 */
export const stabilityUpTo = (
  store: Pick<Store, "read">,
  configKey: string,
  iteration = Number.POSITIVE_INFINITY,
): Stability | undefined =>
  stabilityOf(
    gateVerdicts(store, configKey)
      .filter((verdict) => verdict.iteration <= iteration)
      .reverse()
      .map(({ elo, elo_low: low, elo_high: high }) => ({ elo, low, high })),
  );

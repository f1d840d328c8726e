/** The gate of the pipeline with its usual numbers, written down a second time: what the pipeline plans is held against it. */
import { sumOf } from "../../src/kernel/index.ts";
import { checkCount, checkFinite } from "../../src/pipeline/statistics/checks.ts";
import { capFor, type SprtPlan } from "../../src/pipeline/statistics/sprt-plan.ts";

/** The widest and the narrowest gate: it starts at [0, 50] and tightens towards [0, 20] as gains shrink. */
const WIDEST_ELO = 50;
const NARROWEST_ELO = 20;
const REMEMBERED_GAINS = 3;

/**
 * The plan of a promotion gate. `gains` are the normalized Elo of the promotions so far, oldest first, each measured
 * after stopping: a gate asks for what candidates lately brought, so that it neither wastes games on big steps nor
 * rejects the small ones that are left.
 */
export function gatePlan(gains: readonly number[] = [], batchBlocks = 8): SprtPlan & { readonly capBlocks: number } {
  checkCount(batchBlocks, 1, "BATCH", "The batch");
  for (const gain of gains) checkFinite(gain, "GAIN", "A gain");
  const recent = gains.slice(-REMEMBERED_GAINS);
  const mean = recent.length === 0 ? WIDEST_ELO : sumOf(recent) / recent.length;
  const upper = Math.round(Math.min(WIDEST_ELO, Math.max(NARROWEST_ELO, mean)));
  return {
    model: "normalized",
    bounds: [0, upper],
    alpha: 0.05,
    beta: 0.05,
    batchBlocks,
    capBlocks: capFor([0, upper], batchBlocks),
  };
}

import {
  architectureWeights,
  type ConfigLook,
  hasFound,
  type StageServices,
  trainingTunings,
} from "../../../stage/index.ts";
import { judgeArchitectures } from "../../architectures.ts";
import { gatesBefore } from "../../gates.ts";

/** Weights that moved by less are not told. */
const TOLD_MOVE = 0.01;

/**
 * Architectures by the gates of their candidates, where a search has found one. It looks when training is due: what a search found for this
 * iteration is known by then, and `training_trigger` waits for its word.
 */
export function weighArchitectures(
  { store }: StageServices,
  { row, put, emit, at, configKey: config_key }: ConfigLook<"ARCHITECTURE_WEIGHTS_UPDATED">,
): void {
  const tuning = row(trainingTunings);
  const known = row(architectureWeights);
  if (at?.stage !== "training" || !hasFound(tuning, at.iteration) || known?.iteration === at.iteration) return;
  const verdict = judgeArchitectures(tuning, gatesBefore(store, config_key, at.iteration), at.iteration);
  put(architectureWeights, { iteration: at.iteration, ...verdict });
  const { weights, architecture, back } = verdict;
  const hasMoved = Object.entries(weights).some(
    ([name, weight]) => Math.abs(weight - (known?.weights[name] ?? 0)) > TOLD_MOVE,
  );
  if (hasMoved || back)
    emit.ARCHITECTURE_WEIGHTS_UPDATED({
      config_key,
      architecture_weights: weights,
      reason: back ? `training goes back to ${architecture}` : `iteration ${at.iteration} trains ${architecture}`,
    });
}

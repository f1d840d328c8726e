/**
 * pipeline/models: who is champion, what it came from, and the way back.
 *
 * It guarantees that
 * - a champion changes by compare and set alone: a verdict about another champion crowns nobody, and two of them never both;
 * - every change is a line of the history with its cause and evidence; none is ever taken out;
 * - a champion that is proven weaker or broken makes room for the last good one, once; what was withdrawn does not come back
 *   by itself;
 * - the registry's states follow from what happened; no event can be missed that would have moved one.
 */
export type { ArtifactEntry, ModelArtifacts } from "../artifacts.port.ts";
export {
  type AutoPromotionPorts,
  type AutoPromotionSettings,
  autoPromotion,
  autoPromotionDefaults,
  type Tiers,
  tiers,
} from "./auto-promotion.daemon.ts";
export { type Champion, type Crowning, champions, crown, lastGood, withdrawnModels } from "./champion.ts";
export {
  type ChampionCheck,
  type CheckOutcome,
  type Crowned,
  type CrowningCause,
  championHistory,
  checkOutcomes,
} from "./champion-rows.ts";
export {
  championOf,
  championsOf,
  falsePromotionsSoFar,
  gateHistory,
  ladderOf,
  listModels,
  type ModelCommandPorts,
  modelCommandsPart,
  type OrderByHand,
  type PromotedByHand,
  promoteByHand,
  ratedChampions,
  resolveModel,
  rollbackByHand,
} from "./commands.ts";
export { type LearningUnitsPorts, learningUnits } from "./learning-units.ts";
export {
  type ModelCoordinatorPorts,
  type ModelCoordinatorSettings,
  modelCoordinator,
  modelCoordinatorDefaults,
  rebuildOf,
} from "./model-coordinator.daemon.ts";
export {
  type ModelRollbackPorts,
  type ModelRollbackSettings,
  modelRollback,
  modelRollbackDefaults,
  type RefusedRollback,
  type RollbackOutcome,
  refusedRollbacks,
} from "./model-rollback.daemon.ts";
export { modelsModule } from "./models-module.ts";
export { MODEL_STATES, type ModelEntry, type ModelFilter, type ModelState, modelEntries } from "./registry.ts";
export { type TrainingRun, trainingRuns } from "./training-runs.ts";

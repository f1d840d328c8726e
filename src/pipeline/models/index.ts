/**
 * pipeline/models: what is known of models: which one is champion, what each came from, how strong it is, and where it is in
 * its life. The lowest of the rooms: whoever trains, measures or promotes writes its part of it here.
 *
 * It guarantees that
 * - a champion changes by compare and set alone: a verdict about another champion crowns nobody, and two of them never both;
 * - every change is a line of the history with its cause and evidence; none is ever taken out;
 * - the registry's states follow from what happened; no event can be missed that would have moved one.
 */

export { type Champion, champions, crown, lastGood, withdrawnModels } from "./champion.ts";
export {
  type CheckOutcome,
  championAfter,
  championHistory,
  checkOutcomes,
  firstChampion,
  recordCheck,
} from "./champion-history.ts";
export { faultOf } from "./faults.ts";
export {
  ladderKey,
  ladders,
  type RatedChampion,
  type RatedPlayer,
  ratedChampions,
  ratingOf,
} from "./ratings.ts";
export { type ModelEntry, modelEntries, modelEntry, type Student } from "./registry.ts";
export { budgetOf, playersOf, ratingAllowance } from "./search-budget.ts";
export { students } from "./students.ts";
export { checkpointOf, epochOfCheckpoint, recordRun, runThatMade, trainingRuns } from "./training-runs.ts";
export { modelCoordinator } from "./units/model-coordinator/model-coordinator.unit.ts";

/**
 * pipeline/evaluation: how strong a model is, and how sure that is.
 *
 * It guarantees that
 * - a verdict follows from whole batches of blocks in their order, never from who was fast; what was played beyond it is
 *   never counted;
 * - every counted block is in the match ledger, once; nothing is ever taken out;
 * - ratings follow from rating games alone, are computed anew from the ledger, and are never mixed over configs or budgets;
 * - no games, wrong players, impossible scores or games that repeat each other are failures with a name, never a verdict;
 * - every champion is judged beside the last good one, however it came to its place.
 */
export {
  type EloServicePorts,
  type EloServiceSettings,
  eloService,
  eloServiceDefaults,
} from "./elo-service.daemon.ts";
export {
  EVALUATION_SCOPE,
  type EvaluationDaemonPorts,
  type EvaluationPressure,
  type EvaluationSettings,
  evaluationDaemon,
  evaluationDefaults,
  evaluationPressures,
} from "./evaluation.daemon.ts";
export { evaluationModule } from "./evaluation-module.ts";
export { type GatePlan, gateFor } from "./gate.ts";
export { gamesByPurpose, type MatchPurpose, type PairTally, pairTallies } from "./ledger.ts";
export { PAIRS_FILE, type ReadArtifact } from "./match-results.ts";
export {
  modelPerformanceWatchdog,
  type WatchdogPorts,
  type WatchdogSettings,
  watchdogDefaults,
} from "./model-performance-watchdog.daemon.ts";
export { type RatingWork, ratingWork } from "./rating-budget.ts";
export { createRatingEngine, type RatingEngine } from "./rating-engine.ts";
export { ladderKey, ladders, type RatedLadder, type RatedPlayer, ratingOf } from "./ratings-table.ts";
export { type Regression, regressions } from "./regressions-table.ts";
export { budgetOf, playersOf } from "./search-budget.ts";
export { type GateVerdict, gateVerdicts } from "./verdicts.ts";

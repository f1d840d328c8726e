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
export { gateFor } from "./gate.ts";
export { type PairTally, pairTallies } from "./ledger.ts";
export { resultsOf } from "./match-jobs.ts";
export { isLasting, PAIRS_FILE, resultsFileOf } from "./match-results.ts";
export { ratingWork } from "./rating-budget.ts";
export { createRatingEngine } from "./rating-engine.ts";
export { regressions } from "./regressions.ts";
export type { EvaluationServices } from "./services.ts";
export { stabilityUpTo } from "./stability-up-to.ts";
export { eloService } from "./units/elo-service/elo-service.unit.ts";
export { evaluationDaemon } from "./units/evaluation/evaluation.unit.ts";
export { modelPerformanceWatchdog } from "./units/model-performance-watchdog/model-performance-watchdog.unit.ts";
export { gateTallies, gateVerdicts } from "./verdicts.ts";

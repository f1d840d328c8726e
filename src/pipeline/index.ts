/**
 * pipeline: the closed loop. Games become training files, training files become models, models are measured, and the better
 * one plays the next games.
 *
 * It guarantees that
 * - where a config stands is rows: drop every event, kill every process, and it goes on from them;
 * - a stage is done only with evidence: games above zero, finite losses, files with hashes, a verdict with its numbers;
 *   anything else is a failure with a code, tried again behind a breaker, or shown to a person;
 * - what decides the outcome is the plan and the content: one seed and one plan give one champion, byte for byte, whoever did
 *   the work and in whatever order;
 * - one unit writes each row, and one place decides each question; every refusal is stored with actual and required values.
 *
 * `pipeline_orchestrator` says whose turn it is; the units of the folders do the stages.
 */
export { type ConfigPlan, type ConfigPlanInput, type ConfigRow, configPlanSchema, configs } from "./config-plan.ts";
export { budgetOf, createRatingEngine, evaluationModule } from "./evaluation/index.ts";
export { pipelineExcuses } from "./excuses.ts";
export { type EndedStage, type HistoryFilter, pipelineModule, stageHistory } from "./history.ts";
export { type Iteration, iterations, type StageFailure, type Wait } from "./iteration.ts";
export { booksView, loopSnapshot, type SnapshotPorts } from "./loop-snapshot.ts";
export {
  championOf,
  championsOf,
  listModels,
  type ModelEntry,
  modelsModule,
  promoteByHand,
  ratedChampions,
  rollbackByHand,
} from "./models/index.ts";
export { type HandOver, pipelineOrchestrator } from "./pipeline-orchestrator.daemon.ts";
export { type PipelinePorts, pipelineParts, pipelineUnits } from "./pipeline-units.ts";
export { progressWatchdog } from "./progress-watchdog.daemon.ts";
export { breakersOf, type StagePolicy, stagePolicyDefaults } from "./reconcile.ts";
export type {
  BooksView,
  ChampionView,
  ConfigSnapshot,
  GateView,
  LoopSnapshot,
  LossPoint,
  Rated,
  StageView,
} from "./snapshot.ts";
export { LOOP_KINDS, type LoopKind, STAGES, type Stage } from "./stages.ts";
export { type UnitWait, waitsOf } from "./waits.ts";

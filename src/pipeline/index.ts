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

export { createPipelineConsole, type PipelineConsole, type PipelineDecision } from "./console.ts";
export { createRatingEngine, PAIRS_FILE } from "./evaluation/index.ts";
export { type Champion, champions, playersOf, students } from "./models/index.ts";
export { championOf } from "./promotion/index.ts";
export { plannedJobs, suspects } from "./selfplay/index.ts";
export type { PipelineServices } from "./services.ts";
export type {
  ChampionView,
  ConfigSnapshot,
  GateView,
  LossPoint,
  PipelineSnapshot,
  Rated,
  StageView,
} from "./snapshot.ts";
export {
  type ConfigPlan,
  type ConfigPlanInput,
  configPlanSchema,
  configs,
  exportWork,
  failuresInARow,
  iterations,
  KNOB_PARAMETERS,
  KNOBS,
  LOOP_KINDS,
  NO_INPUT,
  pipelineDefaults,
  STAGES,
  type Stage,
  seedFor,
  type Wait,
} from "./stage/index.ts";
export {
  discoveryRates,
  drawBlocks,
  estimateElo,
  type PairedDifference,
  pairedDifference,
} from "./statistics/index.ts";
export { derivedRuns, holdKnob } from "./steering/index.ts";
export { pipelineParts, pipelineUnits } from "./units.ts";
export { type ConfigStanding, pipelineSnapshot, pipelineStandings, stageJobs } from "./views.ts";
export { type UnitWait, unitsOf } from "./waits.ts";

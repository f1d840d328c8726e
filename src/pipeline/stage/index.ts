/**
 * pipeline/stage: what all stages of the loop share.
 *
 * It guarantees that
 * - where a config is stands in one row (`iterations`), and a stage works only when that row says that it is its turn;
 * - the work on a stage is one row (`StageWork`), taken a step further at every look: from events, which only save time, and
 *   from the clock, so that drop every event and the loop still closes;
 * - jobs are put out in the unit's own commit, followed by asking the queue, and one whose input is being made again has not
 *   failed;
 * - whatever does not go on says what it waits for, with what is there and what must be.
 *
 * A stage is a `defineStage`; any other unit that looks at one config after the other is a `defineConfigUnit`. The rooms of
 * the pipeline import downwards only: stage and statistics, then models, selfplay, data, training, evaluation, promotion.
 */
export { type CascadeStart, cascadeStarts, startFromOf } from "./cascade.ts";
export { type ConfigLook, defineConfigUnit, JOB_ENDS, type LookOf } from "./config-unit.ts";
export { defineStage, type Turn, type TurnOf } from "./define-stage.ts";
export {
  failuresInARow,
  type Iteration,
  isFailure,
  isTurnOf,
  iterations,
  MODEL_UNUSABLE,
  SEGMENTS_REJECTED,
  type StageFailure,
} from "./iteration.ts";
export {
  cancelJobs,
  followJobs,
  followStageJobs,
  type Jobs,
  jobFailure,
  type LostJob,
  type PartJob,
  putJobs,
  strandedParts,
  takeBackStranded,
} from "./jobs.ts";
export { CONTENT_KNOBS, type ContentKnob, KNOBS, type Knob } from "./knob-names.ts";
export {
  type ConfigKey,
  type ConfigPlan,
  type ConfigPlanInput,
  type ConfigRow,
  configPlanSchema,
  configs,
} from "./plan.ts";
export {
  type AwaitedJob,
  INPUT_LOST,
  isOpenRebuild,
  lostFiles,
  NO_INPUT,
  NO_REBUILDS,
  type Rebuild,
  type RebuildRow,
  rebuildRows,
} from "./rebuilds.ts";
export { bufferOf, isPrioritised, type ReplayBuffer, replayBuffers } from "./replay.ts";
export { putChanged } from "./rows.ts";
export { seedFor } from "./seeds.ts";
export { everyMs, type StageServices } from "./services.ts";
export { pipelineDefaults } from "./settings.ts";
export {
  type DrawnFiles,
  difficultyOf,
  drawnInputs,
  explorationSignals,
  gamesWith,
  gauntletSignals,
  KNOB_PARAMETERS,
  type Knobs,
  knobIn,
  knobKey,
  openedWith,
  PLAY_KNOBS,
  type Signal,
  type SignalHold,
  signalHolds,
  signalIn,
  signals,
  signalsOf,
  windowWith,
  withKnobs,
  withOpened,
} from "./signals.ts";
export { LOOP_KINDS, STAGES, type Stage, stageAfter } from "./stages.ts";
export {
  architectureWeights,
  awaitsSearch,
  hasFound,
  MAX_SEARCH_MS,
  type SearchMethod,
  type SearchOrder,
  type SearchRequest,
  searchOrders,
  searchRequests,
  startFound,
  type TrainingTuning,
  type TunedValues,
  trainedWith,
  trainingTunings,
  tunedIn,
  tunings,
} from "./tuning.ts";
export { isRefusal, pausedWait, refusedWait, type Wait, type Waiting, waitsSince } from "./waits.ts";
export {
  type ArtifactRef,
  done,
  doneIn,
  type EvaluationOwn,
  type ExportOwn,
  evaluationWork,
  exportWork,
  failed,
  isFor,
  type PromotionOwn,
  promotionWork,
  type Segment,
  type SelfplayOwn,
  type Shard,
  type StageWork,
  type SyncOwn,
  selfplayWork,
  syncWork,
  type TrainingOwn,
  trainingWork,
  undertakingOf,
  waiting,
  workOf,
} from "./work.ts";

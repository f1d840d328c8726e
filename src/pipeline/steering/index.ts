/**
 * pipeline/steering: what is learned from results steers what is done next.
 *
 * It guarantees that
 * - a signal is a row with its bounds, its half-life and its evidence; it fades by itself, and `ringrift steering` shows it;
 * - each knob is turned by one unit and applied by one other, and a person's word on it counts first;
 * - what is steered by time or load changes when work is done, and never what it is: one seed still gives one champion.
 */
export { holdKnob, requestSearch, steeringOf, steeringView } from "./console.ts";
export { knobsAt } from "./knobs.ts";
export { derivedRuns } from "./tables.ts";
export { curriculumIntegration } from "./units/curriculum-integration/curriculum-integration.unit.ts";
export { derivedTraining } from "./units/derived-training/derived-training.unit.ts";
export { explorationScheduler } from "./units/exploration-scheduler/exploration-scheduler.unit.ts";
export { feedbackLoop } from "./units/feedback-loop/feedback-loop.unit.ts";
export { gauntletFeedback } from "./units/gauntlet-feedback/gauntlet-feedback.unit.ts";
export { metricsOrchestrator } from "./units/metrics-orchestrator/metrics-orchestrator.unit.ts";
export { optimizationCoordinator } from "./units/optimization-coordinator/optimization-coordinator.unit.ts";
export { perOrchestrator } from "./units/per-orchestrator/per-orchestrator.unit.ts";
export { populationSearch } from "./units/population-search/population-search.unit.ts";

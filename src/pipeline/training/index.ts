/**
 * pipeline/training: when a config trains, on what, and what came of it.
 *
 * It guarantees that
 * - one run at a time for each config, and a few over all; nobody else starts training;
 * - a gate that says no is stored with what it saw and what it asks for; one that nothing in the round can open lets the
 *   round go on without a run;
 * - a run counts only with a model, steps, and losses that are finite and not zero;
 * - what a run is given follows from the plan, the iteration and files by their hash, so a run tried again is the same run.
 */
export { GATES, type GateFacts, type GateName, type GatePolicy, gatePolicyDefaults, judgeGates } from "./gates.ts";
export {
  type StoredGates,
  type TrainingLock,
  trainingGates,
  trainingLocks,
} from "./gates-table.ts";
export { type LossAnomaly, type LossTrend, lossAnomaly, lossTrend } from "./loss-watch.ts";
export {
  type TrainingCoordinatorPorts,
  type TrainingCoordinatorSettings,
  trainingCoordinator,
  trainingCoordinatorDefaults,
} from "./training-coordinator.daemon.ts";
export { type Rollback, rollbacks, type TrainingLine, trainingLines } from "./training-line.ts";
export {
  type TrainingTriggerPorts,
  type TrainingTriggerSettings,
  trainingTrigger,
  trainingTriggerDefaults,
} from "./training-trigger.daemon.ts";

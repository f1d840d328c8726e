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
export { EVALUATION_SCOPE, evaluationPressures, rollbacks, trainingGates } from "./tables.ts";
export { trainingEvidence } from "./units/training-coordinator/evidence.ts";
export { trainingCoordinator } from "./units/training-coordinator/training-coordinator.unit.ts";
export { trainingTrigger } from "./units/training-trigger/training-trigger.unit.ts";
export { heldTrainers, isMadeAgain, unusables, withUnusable } from "./unusable.ts";

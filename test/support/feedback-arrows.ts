/** How results come back to self-play: what a unit hears, and what it tells because of it. */
export const FEEDBACK_ARROWS: readonly (readonly [heard: string, unit: string, told: string | null])[] = [
  ["EVALUATION_COMPLETED", "gauntlet_feedback", "HYPERPARAMETER_UPDATED"],
  ["EVALUATION_COMPLETED", "gauntlet_feedback", "SELFPLAY_TARGET_UPDATED"],
  ["EVALUATION_COMPLETED", "gauntlet_feedback", "CURRICULUM_ADVANCED"],
  ["EVALUATION_COMPLETED", "curriculum_integration", "CURRICULUM_REBALANCED"],
  ["CURRICULUM_REBALANCED", "selfplay_scheduler", null],
];

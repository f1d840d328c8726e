/** What this room says although no unit hears it yet. Each goes when its listener comes: the audit insists. */
const orphans = {
  TRAINING_EARLY_STOPPED: "operators read it in 'ringrift events tail'; feedback_loop is to hear it",
  TRAINING_LOSS_TREND: "operators read it in 'ringrift events tail'; feedback_loop is to hear it",
  QUALITY_DISTRIBUTION_CHANGED: "operators read it in 'ringrift events tail'; curriculum_integration is to hear it",
} as const;

export const pipelineExcuses = { orphans, deadSubscriptions: {} } as const;

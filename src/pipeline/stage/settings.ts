/** Numbers of the loop that whoever runs it may choose. */
export const pipelineDefaults = {
  /** RINGRIFT_ALLOW_PENDING_GATE: games that nobody could check may be used. */
  allowPendingGate: false,
  /** RINGRIFT_OLD_CHAMPION: how long self-play goes on with a champion that is none any more. */
  oldChampionMs: 1_800_000,
  /** Self-play jobs of all configs that may be in the queue at once, without pressure. */
  maxSelfplayJobs: 64,
  /** Training runs at a time, over all configs. */
  maxTrainingRuns: 3,
  /** Evaluation jobs under way, over all configs, that hold training back, and how few let it go on. */
  evaluationPressureAt: 60,
  evaluationReleaseAt: 20,
};
export type PipelineSettings = Readonly<typeof pipelineDefaults>;

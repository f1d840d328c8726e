/** How long the lock of a run holds without being renewed. */
export const LOCK_MS = 120_000;
/** Runs of an iteration that may fail with a checkpoint before one begins without it. */
export const CHECKPOINT_TRIES = 2;
/** Progress is written down in steps, not with every beat. */
export const PROGRESS_STEP = 0.1;
/** Runs that the losses of a new one are compared with. */
export const RUNS_COMPARED = 20;

/** Curves that one run may have a point of: what it says beyond them is not kept. */
export const MAX_NUMBERS = 64;
/** Earlier runs that are needed before a loss is called unusual, and how many are looked at. */
export const LEAST_RUNS = 4;
export const LOSS_WINDOW = 8;
/** A loss this many times above or below the median is unusual, however quiet the history was. */
export const LEAST_FACTOR = 1.5;
/** Deviations of the history that a loss may be off; 1.4826 makes a median deviation a standard one. */
export const LOSS_DEVIATIONS = 5 * 1.4826;
/** A change of the loss over the window that is more than noise: two percent. */
export const NOTICEABLE_LOSS = 0.02;

/** What lets a run begin. */
export const GATE_POLICY = {
  /** How long a run waits for the word on architectures. */
  architecturePatienceMs: 60_000,
  minQuality: 0.5,
  /** How long a run waits for data to be scored, or scored better, before the round goes on without it. */
  qualityPatienceMs: 300_000,
  maxDataAgeMs: 24 * 3_600_000,
  /** How long old data is waited with for newer; after that old data is better than none. */
  stalePatienceMs: 600_000,
} as const;

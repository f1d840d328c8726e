/** How long the lock of a run holds without being renewed. */
export const LOCK_MS = 120_000;
/** Progress is written down in steps, not with every beat. */
export const PROGRESS_STEP = 0.1;
/** Runs that the losses of a new one are compared with. */
export const RUNS_COMPARED = 20;

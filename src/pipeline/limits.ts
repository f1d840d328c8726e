/** Numbers of the pipeline as a whole that no operator changes. */
import type { Stage } from "./stage/index.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Longest time of one attempt of a stage. */
export const DEADLINE_MS: Readonly<Record<Stage, number>> = {
  selfplay: HOUR_MS,
  data_sync: 30 * MINUTE_MS,
  npz_export: 30 * MINUTE_MS,
  training: 3 * HOUR_MS,
  evaluation: 3 * HOUR_MS,
  promotion: 5 * MINUTE_MS,
};
/** Wait before a new attempt; doubles. */
export const RETRY = { firstMs: 1_000, maxMs: MINUTE_MS, jitter: 0 } as const;
/** Failures of a stage in a row that open its breaker, for `openMs`, twice as long each time. */
export const BREAKER = { threshold: 3, openMs: MINUTE_MS, maxMs: HOUR_MS } as const;
/** Failures in a row after which a round goes on without its candidate, and rounds in a row that may. */
export const FALL_BACK = { failures: 5, rounds: 2 } as const;
/** Failures that are remembered of a config. */
export const MAX_FAILURES = 10;

/** How often the watchdog of progress looks by itself. */
export const WATCH_MS = 5_000;
/** Elo a day under which a config no longer gains, and how long it is looked at before that is said. */
export const MIN_ELO_PER_DAY = 12;
export const STRENGTH_MS = 6 * HOUR_MS;
/** Ratings of a config that are remembered for it. */
export const MAX_STRENGTHS = 500;
/** An alarm about the books that is not repeated would be taken for over. */
export const BOOKS_AGAIN_MS = HOUR_MS;
/** Jobs that it names. */
export const BOOKS_JOBS = 3;

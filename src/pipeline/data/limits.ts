/** Numbers of this room that no operator changes. */
import type { QualityBand } from "../selfplay/index.ts";

/** A window of more files than this is read slowly: its oldest become one. */
export const MAX_SHARDS = 24;
export const COMBINED_SHARDS = 12;

/** Iterations that are remembered of a producer. */
export const ITERATIONS_KEPT = 12;
/** Chance to suspect anybody in a batch when all are honest. Their games are then played again by others, which settles it. */
export const SUSPECT_ALPHA = 0.001;

/** From where on a score is in a band. */
export const BAND_SCORES: Readonly<Record<QualityBand, number>> = { excellent: 0.9, good: 0.7, degraded: 0.5, poor: 0 };
/** What each part counts. Games that repeat each other teach least, so that counts most. */
export const SCORE_WEIGHTS = { redundancy: 0.35, length: 0.2, entropy: 0.2, calibration: 0.25 } as const;
/** Openings repeat by nature: up to a fifth costs nothing; at 0.7 it is worth nothing. */
export const FREE_REDUNDANCY = 0.2;
export const MAX_REDUNDANCY = 0.7;
/** Policy targets that name one move teach nothing new: from 0.2 nats on it costs nothing. */
export const FREE_ENTROPY = 0.2;
/** Files of one batch whose segments' scores are told. */
export const MAX_SCORED_FILES = 1_000;
/** A score that moves less than this has no direction. */
export const STILL_SCORE = 0.02;

/** When what was brought is merged: from so many games on, or when it has waited so long; so many files and bytes at once. */
export const consolidationLimits = {
  minGames: 50,
  waitMs: 5 * 60_000,
  maxFiles: 100,
  maxBytes: 512 * 1_024 ** 2,
  /** Before the second try; each further one waits twice as long. */
  firstWaitMs: 60_000,
  maxWaitMs: 6 * 3_600_000,
  /** Files of fresh rows that wait for an export at most: then nothing more is merged. */
  maxFresh: 50,
};

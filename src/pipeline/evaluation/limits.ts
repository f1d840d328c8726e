/** Jobs that a batch of a match is cut into. */
export const PARTS_PER_BATCH = 2;
/** Batches that lie ready beyond the one that is looked at next, where workers would wait for the look. */
export const BATCHES_AHEAD = 1;
/** Gates that the bounds of the next one follow from. */
export const VERDICTS_SEEN = 40;

/** Blocks of one rating job, and rating jobs of a config at a time. */
export const RATING_BLOCKS = 8;
export const MAX_RATING_JOBS = 2;
/** Champions that still play for their ratings: the newest, and the first. */
export const ROSTER_SIZE = 12;
/** Champions that a ladder holds; with the anchors it stays within what the statistics take. */
export const MAX_RATED = 500;
/** Pairs that would tell most, of which the next rating games are chosen. */
export const MAX_WANTED_PAIRS = 20;
/** Change of the champion's rating that others should think about. */
export const SIGNIFICANT_ELO = 25;
/** Jobs of a player that may fail before it is no longer asked to play. */
export const MAX_PLAYER_FAILURES = 3;

/** Blocks of one batch of a champion's check, and of the whole check: of one that came through a gate, which has shown its
 * strength already, and of one that did not. */
export const CHECK_BLOCKS = { batch: 16, gated: 64, ungated: 400 } as const;
/** Failed rounds of self-play since the crowning after which the champion itself is tried. */
export const FAILED_ROUNDS = 2;
/** Nodes that try a model which nobody could play with, and how long they have for it. */
export const TRIAL = { nodes: 2, ms: 900_000 } as const;
/** How often games of a check that were not played for want of time, place or a worker are ordered again. */
export const MAX_CHECK_RETRIES = 5;

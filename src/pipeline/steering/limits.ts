/** Numbers of steering that nobody sets. */

/** A config never gets less than this part of what it would get without curriculum, nor more than this many times it. */
export const MIN_WEIGHT = 0.5;
export const MAX_WEIGHT = 2;

/** Iterations after which half of a weight is left, if nothing renews it. */
export const WEIGHT_HALF_LIFE = 8;

/** The gates that a config's speed of learning is judged by; fewer than the least say nothing. */
export const MAX_GATES = 8;
export const MIN_GATES = 2;

/** Tuned parameters that are remembered of a config: games of older iterations are not made again. */
export const MAX_TUNINGS = 200;

/** A weight that moved by less is not told. */
export const TOLD_CHANGE = 0.1;

/** The newest measurements that a trend is drawn through; a plateau needs all of them. */
export const TREND_WINDOW = 12;
/** A measurement is odd when it is so many deviations off the ones before it, and there are at least so many of them. */
export const ANOMALY_DEVIATIONS = 6;
export const ANOMALY_POINTS = 5;

/** A knob that changes what is played or trained stays within these factors, and half of it is left after so many iterations. */
export const MIN_FACTOR = 0.5;
export const MAX_FACTOR = 2;
export const KNOB_HALF_LIFE = 4;

/** A network that a search found goes back to the champion's after so many gates in which no candidate of it was promoted. */
export const ARCHITECTURE_GATES = 6;

/** An opponent is mastered by so many pairs at least; one that is as strong is ever called so with at most this chance. */
export const MASTERY = { pairs: 64, error: 0.01 } as const;

/** Files of games that an iteration may begin games from. */
export const ARCHIVE_FILES = 4;

/** Numbers of steering that nobody sets. */

/** A config never gets less than this part of what it would get without curriculum, nor more than this many times it. */
export const MIN_WEIGHT = 0.5;
export const MAX_WEIGHT = 2;

/** Iterations after which half of a weight is left, if nothing renews it. */
export const WEIGHT_HALF_LIFE = 8;

/** The gates that a config's speed of learning is judged by; fewer than the least say nothing. */
export const MAX_GATES = 8;
export const MIN_GATES = 2;

/** A weight that moved by less is not told. */
export const TOLD_CHANGE = 0.1;

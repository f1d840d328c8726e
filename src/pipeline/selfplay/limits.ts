/** More jobs than this for one iteration would only be books: they get larger instead. */
export const MAX_PARTS = 500;
/** Nodes that a job is kept from. */
export const MAX_EXCLUDED = 100;
/** Of the jobs that a config may have in the queue, what each level of pressure leaves. */
export const PRESSURE_SHARES = { none: 1, soft: 0.5, hard: 0.1, stop: 0 } as const;
/** The least and the most that a job costs its config in the queue's books. */
export const JOB_COST = { min: 0.1, max: 10 } as const;
/** Self-play is divided anew so often without being asked. */
export const SCHEDULER_MS = 5_000;
/** What a node said of how idle it is holds for so long; one that has said nothing is asked this often. */
export const IDLE_GOOD_FOR_MS = 150_000;
export const IDLE_ASK_MS = 120_000;
/** Nodes that are asked at once. */
export const MAX_IDLE_ASKED = 20;
/** Staleness moves all the time: it counts in steps, so that rows do not change with every look. */
export const STALE_STEP_MS = 300_000;
/** From here on data is good; see the bands of its score. */
export const GOOD_QUALITY = 0.7;

/** Games of all configs together that may be under way at once, without pressure. */
export const GAMES_AT_ONCE = 2_000;
/** Of an equal share, what every config that wants games gets whatever else is so. */
export const MIN_SHARE = 0.5;
/** Data of this age is as stale as can be, a champion so far below its goal as far, and one that gains so much a day as fast. */
export const STALE_MS = 4 * 3_600_000;
export const FAR_ELO = 400;
export const FAST_ELO_PER_DAY = 50;
/** A penalty slows a config and never stops it: what stands still cannot show that it is better. */
export const MIN_RATE = 0.25;
/** Champions that the velocity of a config is taken from. */
export const VELOCITY_POINTS = 8;

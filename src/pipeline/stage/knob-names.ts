/**
 * Knobs that change what is played or trained. They are taken when an iteration opens, from what is the same in every run of a seed, and
 * stand in its row until it ends.
 */
export const CONTENT_KNOBS = [
  "learning_rate",
  "games",
  "exploration",
  "search",
  "opponents",
  "positions",
  "window",
] as const;
export type ContentKnob = (typeof CONTENT_KNOBS)[number];

/** What steering may turn. Each knob has one unit that turns it, and one that applies it. `share` only moves games in time. */
export const KNOBS = ["share", ...CONTENT_KNOBS] as const;
export type Knob = (typeof KNOBS)[number];

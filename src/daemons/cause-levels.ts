/** `bad` needs somebody now, `warn` needs a look, `note` is worth knowing: it goes on by itself. Worst first. */
export const CAUSE_LEVELS = ["bad", "warn", "note"] as const;
export type CauseLevel = (typeof CAUSE_LEVELS)[number];

/** What becomes of a file of games that no manifest knows. */
export const ORPHAN_RULES = ["adopt", "quarantine", "offer", "leave"] as const;
export type OrphanRule = (typeof ORPHAN_RULES)[number];

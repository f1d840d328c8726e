/** What the demo's processes say to each other beside the events themselves: counts for the screen, and when to end. */

export type ToWorker =
  | { readonly type: "stop" }
  /** The cause of this event's failure is repaired: handle it from now on. */
  | { readonly type: "repair"; readonly eventId: string };

export type FromWorker =
  /** So many since this process started. */
  | { readonly type: "count"; readonly count: number }
  /** Its last word, after a stop. */
  | { readonly type: "done"; readonly count: number; readonly byType: Readonly<Record<string, number>> };

export type Role = "selfplay" | "data_pipeline" | "scoreboard";

export interface WorkerOptions {
  readonly role: Role;
  readonly dataDir: string;
  /** Events a second, for the one that publishes. */
  readonly ratePerSecond: number;
}

/** What selfplay says, and what follows from it. */
export const CAUSE = "SELFPLAY_COMPLETE";
export const EFFECT = "NEW_GAMES_AVAILABLE";

/** Tasks of this kind have a damaged segment, which the scoreboard cannot read until it is repaired. */
export const isDamaged = (taskId: unknown): boolean => String(taskId).startsWith("damaged-");

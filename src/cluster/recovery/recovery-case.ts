import type { CheckName } from "../node-health/health-book.ts";
import type { Rung } from "./rungs.ts";

/** An illness from its discovery to its end. Times are milliseconds since the epoch. */
export type RecoveryCase = {
  readonly case_id: string;
  readonly opened_at: number;
  readonly check: CheckName | null;
  readonly reason: string;
  /** The rung that it stands on, since when, and how many were begun. */
  readonly rung: Rung;
  readonly rung_since: number;
  readonly attempts: number;
  /** The rung that may not be used yet, and since when; null while nothing is held back. */
  readonly waits_for: Rung | null;
  readonly waits_since: number | null;
  /** A person was told that it waits for them. */
  readonly is_handed_over: boolean;
  /** Tasks that were lost there since it began. */
  readonly orphans: number;
};

/** What the games of a champion against the last good one come to, as pure decisions. */
import type { CheckOutcome } from "../../../models/index.ts";
import type { RegressionVerdict, Severity } from "../../../statistics/index.ts";
import { CHECK_BLOCKS } from "../../limits.ts";

export interface CheckStep {
  /** How the check ends; undefined while more games are wanted. */
  readonly outcome?: CheckOutcome;
  /** What is to be told, if it is news. */
  readonly severity: Severity;
}

/**
 * The next step after a look. Severe and critical end it, and so does being cleared. A champion that came through a gate has
 * passed as soon as there is no sign of weakness; one that did not must be cleared or run out of blocks.
 */
export function stepAfter(verdict: RegressionVerdict, isGated: boolean): CheckStep {
  const severity = verdict.severity ?? "none";
  if (severity === "severe" || severity === "critical") return { outcome: "regressed", severity };
  if (verdict.cleared) return { outcome: "cleared", severity: "none" };
  if (isGated && verdict.severity === "none") return { outcome: "passed", severity };
  const max = isGated ? CHECK_BLOCKS.gated : CHECK_BLOCKS.ungated;
  return verdict.blocks >= max ? { outcome: "undecided", severity } : { severity };
}

/** What the games of a champion against the last good one come to, as pure decisions. */
import type { CheckOutcome } from "../../../models/index.ts";
import type { Fault, RegressionVerdict, Severity } from "../../../statistics/index.ts";
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

/**
 * What a job that failed for good says of the model that it loaded; undefined where it says nothing of it: it was taken back,
 * it ran out of time, or the machine was short of something.
 */
export function faultOf(code: string, reason: string): Fault | undefined {
  const text = `${code} ${reason}`.toLowerCase();
  if (/cancel|deadline|timeout|timed out|silent|resource|killed|no_workload|forgotten|not_found/.test(text))
    return undefined;
  if (/nan\b|not.finite|diverged/.test(text)) return "nan";
  if (/illegal/.test(text)) return "illegal_move";
  if (/hash|sha-?256|corrupt|truncated|no_input|artifact_broken/.test(text)) return "hash_mismatch";
  return "crash";
}

import type { Fault } from "../statistics/index.ts";

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

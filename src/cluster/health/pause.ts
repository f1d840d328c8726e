/** Whether new work may begin: a verdict with its reasons, which does not flap. Pure. */
import { ERROR_BURST, type HealthFacts } from "./score.ts";

export interface Gate {
  readonly gate: string;
  readonly passed: boolean;
  readonly actual: number;
  readonly required: number;
  readonly hint: string;
}

export interface PausePolicy {
  readonly pauseBelow: number;
  readonly resumeAt: number;
  /** All must have been well for so long before work goes on. */
  readonly resumeAfterMs: number;
}

export const pauseDefaults: PausePolicy = { pauseBelow: 40, resumeAt: 60, resumeAfterMs: 120_000 };

export interface PauseState {
  readonly accepts: boolean;
  /** Since when, in milliseconds since the epoch. */
  readonly since: number;
  /** While paused: since when everything has been well enough to go on; null while it is not. */
  readonly wellSince: number | null;
}

/** What must hold, measured against the limit of the state that one is in. */
export function gatesOf(score: number, facts: HealthFacts, accepts: boolean, policy: PausePolicy): Gate[] {
  const required = accepts ? policy.pauseBelow : policy.resumeAt;
  const { known, online } = facts.nodes;
  const share = known === 0 ? 0 : online / known;
  const gate = (name: string, passed: boolean, actual: number, needed: number, hint: string): Gate => ({
    gate: name,
    passed,
    actual,
    required: needed,
    hint,
  });
  const bad = facts.components.badCritical;
  return [
    gate("health_score", score >= required, score, required, "The parts of the score say what is wrong."),
    gate("nodes_online", share > 0.5, share, 0.5, "More than half of the nodes must be online."),
    gate(
      "critical_components",
      bad.length === 0,
      bad.length,
      0,
      bad.length === 0 ? "" : `Look at ${bad.slice(0, 5).join(", ")}.`,
    ),
    gate(
      "error_burst",
      facts.errors < ERROR_BURST,
      facts.errors,
      ERROR_BURST,
      "Fewer errors than this in five minutes.",
    ),
  ];
}

export function judgePause(state: PauseState, gates: readonly Gate[], now: number, policy: PausePolicy): PauseState {
  const well = gates.every(({ passed }) => passed);
  if (state.accepts) return well ? state : { accepts: false, since: now, wellSince: null };
  if (!well) return { ...state, wellSince: null };
  const wellSince = state.wellSince ?? now;
  return now - wellSince >= policy.resumeAfterMs
    ? { accepts: true, since: now, wellSince: null }
    : { ...state, wellSince };
}

export type SystemStatus = "healthy" | "degraded" | "unhealthy";

/** Below this something is worth a look, though the work goes on. */
const HEALTHY_FROM = 80;

export const statusOf = (score: number, accepts: boolean, facts: HealthFacts, policy: PausePolicy): SystemStatus => {
  if (!accepts || score < policy.pauseBelow) return "unhealthy";
  const flawless = facts.components.badCritical.length === 0;
  return score >= HEALTHY_FROM && flawless ? "healthy" : "degraded";
};

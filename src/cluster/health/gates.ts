/** What must hold for the system to be well, with what is and what must be. Pure. */
import { ERROR_BURST, type HealthFacts } from "./score.ts";

export interface Gate {
  readonly gate: string;
  readonly passed: boolean;
  readonly actual: number;
  readonly required: number;
  readonly hint: string;
}

/** Below this the system is unhealthy, whatever its parts say. */
const UNHEALTHY_BELOW = 40;
/** Below this something is worth a look. */
const HEALTHY_FROM = 80;

export function gatesOf(score: number, facts: HealthFacts): Gate[] {
  const { known, online } = facts.nodes;
  const share = known === 0 ? 0 : online / known;
  const gate = (name: string, passed: boolean, actual: number, required: number, hint: string): Gate => ({
    gate: name,
    passed,
    actual,
    required,
    hint,
  });
  const bad = facts.components.badCritical;
  return [
    gate("health_score", score >= UNHEALTHY_BELOW, score, UNHEALTHY_BELOW, "The parts of the score say what is wrong."),
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

export type SystemStatus = "healthy" | "degraded" | "unhealthy";

/** It is so while its causes last, and no longer. */
export const statusOf = (score: number, gates: readonly Gate[]): SystemStatus => {
  if (gates.some(({ passed }) => !passed)) return "unhealthy";
  return score >= HEALTHY_FROM ? "healthy" : "degraded";
};

/** The three states of health, from good to bad. */
export const HEALTH_STATES = ["running", "degraded", "stopped"] as const;
export type HealthState = (typeof HEALTH_STATES)[number];

/** The same, under the names that the Python system gives them. */
export const CoordinatorStatus = Object.freeze({
  RUNNING: "running",
  DEGRADED: "degraded",
  STOPPED: "stopped",
} as const satisfies Record<string, HealthState>);

export interface UnitHealth {
  readonly status: HealthState;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What the standard rule looks at: how the last pieces of work ended. */
export interface Outcomes {
  readonly succeeded: number;
  readonly failed: number;
}

/** The shares of failures above which a unit is degraded, and no longer does its work. */
const DEGRADED_SHARE = 0.2;
const STOPPED_SHARE = 0.5;

/** The standard rule: more than a fifth of the recent work failed, or more than half of it. */
export function standardHealth({ succeeded, failed }: Outcomes): UnitHealth {
  const all = succeeded + failed;
  const share = all === 0 ? 0 : failed / all;
  const message = failed === 0 ? "" : `${failed} of the last ${all} failed`;
  if (share > STOPPED_SHARE) return { status: "stopped", message };
  return { status: share > DEGRADED_SHARE ? "degraded" : "running", message };
}

/** The worse of several judgements; the first of equally bad ones speaks. */
export function worstHealth(judgements: readonly UnitHealth[]): UnitHealth {
  let worst: UnitHealth = { status: "running", message: "" };
  const details: Record<string, unknown> = {};
  for (const judgement of judgements) {
    Object.assign(details, judgement.details);
    const worse = HEALTH_STATES.indexOf(judgement.status) - HEALTH_STATES.indexOf(worst.status);
    if (worse > 0 || (worse === 0 && worst.message === "")) worst = judgement;
  }
  return { status: worst.status, message: worst.message, details };
}

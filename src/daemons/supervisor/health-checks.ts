import { HEALTH_STATES, type HealthState, type UnitHealth } from "../health.ts";

/** What one check found. */
export interface Check {
  readonly ok: boolean;
  /** Empty when there is nothing to say. */
  readonly message: string;
}

const fine: Check = { ok: true, message: "" };
const percent = (share: number) => `${Math.round(share * 100)} %`;

/** At most this share of the cycles failed. Without cycles nothing can be said against it. */
export function checkErrorRate(given: { errors: number; cycles: number; threshold?: number }): Check {
  const { errors, cycles, threshold = 0.5 } = given;
  if (cycles <= 0) return fine;
  const share = errors / cycles;
  if (share <= threshold) return fine;
  return {
    ok: false,
    message: `${errors} of ${cycles} cycles failed (${percent(share)}, at most ${percent(threshold)})`,
  };
}

/** Whether it is still so young that its other checks do not count. Times are in milliseconds. */
export function checkUptimeGrace(given: { startedAt: number; now: number; gracePeriodMs?: number }): Check {
  const { startedAt, now, gracePeriodMs = 30_000 } = given;
  const uptimeMs = Math.max(0, now - startedAt);
  if (uptimeMs >= gracePeriodMs) return { ok: false, message: "" };
  return { ok: true, message: `starting up: ${uptimeMs / 1_000} of ${gracePeriodMs / 1_000} s` };
}

export function checkQueueDepth(given: { depth: number; maxDepth?: number }): Check {
  const { depth, maxDepth = 1_000 } = given;
  return depth <= maxDepth ? fine : { ok: false, message: `${depth} wait in the queue (at most ${maxDepth})` };
}

/** Did useful work before its deadline. What has never worked is measured from its start. */
export function checkLastSuccess(given: {
  lastSuccessAt: number | null;
  startedAt: number;
  now: number;
  deadlineMs: number;
}): Check {
  const silentMs = given.now - (given.lastSuccessAt ?? given.startedAt);
  if (silentMs <= given.deadlineMs) return fine;
  const since = given.lastSuccessAt === null ? "nothing done since its start" : "no success";
  return { ok: false, message: `${since} for ${silentMs / 1_000} s (at most ${given.deadlineMs / 1_000} s)` };
}

/** One judgement of several checks: the worst that failed decides, and all that failed are named. */
export function judgeChecks(checks: readonly (Check & { readonly otherwise: HealthState })[]): UnitHealth {
  const failed = checks.filter(({ ok }) => !ok);
  const worst = Math.max(0, ...failed.map(({ otherwise }) => HEALTH_STATES.indexOf(otherwise)));
  return { status: HEALTH_STATES[worst]!, message: failed.map(({ message }) => message).join("; ") };
}

/** The checks under the name that the Python system gives them. */
export const HealthCheckHelper = { checkErrorRate, checkUptimeGrace, checkQueueDepth, checkLastSuccess } as const;

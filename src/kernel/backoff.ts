import type { Random } from "./random.ts";

export interface BackoffPolicy {
  readonly firstMs: number;
  readonly mostMs: number;
  /** Share of the delay that is random, 0 to 1. */
  readonly jitter: number;
}

/** The wait before try number `attempt + 1`, after `attempt` failures: doubling, bounded, jittered downwards. */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: Random): number {
  const full = Math.min(policy.mostMs, policy.firstMs * 2 ** Math.max(0, attempt - 1));
  return Math.round(full * (1 - policy.jitter * random.next()));
}

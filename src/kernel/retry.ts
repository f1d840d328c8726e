import { type Clock, sleep } from "./clock.ts";
import type { Random } from "./random.ts";

export interface BackoffPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Share of the delay that is random, 0 to 1. */
  readonly jitter: number;
}

/** For whatever asks a process that may be down: soon again at first, four times a minute in the end. */
export const PEER_BACKOFF: BackoffPolicy = { firstMs: 200, maxMs: 15_000, jitter: 0.5 };

/** The wait before try number `attempt + 1`, after `attempt` failures: doubling, bounded, jittered downwards. */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: Random): number {
  const full = Math.min(policy.maxMs, policy.firstMs * 2 ** Math.max(0, attempt - 1));
  return Math.round(full * (1 - policy.jitter * random.next()));
}

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly policy?: BackoffPolicy;
  readonly signal?: AbortSignal;
  /** Whether what was thrown at this try is worth another one. It may tell somebody. */
  readonly again: (thrown: unknown, tries: number) => boolean;
}

/** Until it succeeds or another try would not help. An abort ends it with its reason. */
export async function retry<T>(
  attempt: () => T | Promise<T>,
  { clock, random, policy = PEER_BACKOFF, signal, again }: RetryOptions,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (thrown) {
      signal?.throwIfAborted();
      if (!again(thrown, tries)) throw thrown;
      await sleep(clock, backoffMs(policy, tries, random), signal);
    }
  }
}

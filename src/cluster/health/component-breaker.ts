/** A breaker that is fed by events: it opens on failures, and closes on a good report or when nothing came for long. Pure. */
import type { BreakerState } from "../../kernel/index.ts";

export const breakerDefaults = {
  /** So many failures within the window open it. */
  threshold: 5,
  windowMs: 300_000,
  openMs: 60_000,
  /** Without a good report it closes when no failure came for so long. */
  quietMs: 600_000,
};
export type BreakerPolicy = typeof breakerDefaults;

export interface ComponentBreaker {
  /** When it last failed, oldest first; no more than the threshold. */
  readonly failures: readonly number[];
  readonly openedAt: number | null;
  /** Given up: it stays open until a good report, however long that takes. */
  readonly held: boolean;
}

export const closedBreaker: ComponentBreaker = { failures: [], openedAt: null, held: false };

export function breakerState(breaker: ComponentBreaker, now: number, policy: BreakerPolicy): BreakerState {
  if (breaker.held) return "open";
  if (breaker.openedAt === null) return "closed";
  if (now - breaker.openedAt < policy.openMs) return "open";
  const last = breaker.failures.at(-1) ?? breaker.openedAt;
  return now - last < policy.quietMs ? "half_open" : "closed";
}

export function failed(breaker: ComponentBreaker, at: number, hold: boolean, policy: BreakerPolicy): ComponentBreaker {
  const state = breakerState(breaker, at, policy);
  const failures = [...breaker.failures, at].filter((time) => at - time < policy.windowMs).slice(-policy.threshold);
  const opens = hold || state === "half_open" || failures.length >= policy.threshold;
  const openedAt = state === "open" ? breaker.openedAt : opens ? at : null;
  return { failures, openedAt, held: breaker.held || hold };
}

/** A good report. While it is open it is too early to be believed, unless it was given up and somebody set it right. */
export function worked(breaker: ComponentBreaker, at: number, policy: BreakerPolicy): ComponentBreaker {
  if (breaker.held) return closedBreaker;
  return breakerState(breaker, at, policy) === "half_open" ? closedBreaker : breaker;
}

import type { Clock } from "./clock.ts";

export interface BreakerPolicy {
  /** Failures in a row that open it. */
  readonly threshold: number;
  readonly openMs: number;
}

export type BreakerState = "closed" | "open" | "half_open";

/** Stops calling what keeps failing: closed, open for a while, then one probe decides. */
export type Breaker = ReturnType<typeof createBreaker>;

export function createBreaker(policy: BreakerPolicy, clock: Clock) {
  let failures = 0;
  let openedAt: number | undefined;
  let probing = false;
  const state = (): BreakerState => {
    if (openedAt === undefined) return "closed";
    return clock.monotonic() - openedAt >= policy.openMs ? "half_open" : "open";
  };
  return {
    get state(): BreakerState {
      return state();
    },
    /** Whether a call may start now; in half-open state true is given to one caller only. */
    admit() {
      const current = state();
      if (current === "closed") return true;
      if (current === "open" || probing) return false;
      probing = true;
      return true;
    },
    succeed() {
      failures = 0;
      openedAt = undefined;
      probing = false;
    },
    fail() {
      failures += 1;
      if (probing || failures >= policy.threshold) openedAt = clock.monotonic();
      probing = false;
    },
    /** A call that was admitted ended without a verdict: its place may be taken by another. */
    abandon() {
      probing = false;
    },
    /** Milliseconds until the next probe may run; 0 when calls are admitted. */
    waitMs: () => (openedAt === undefined ? 0 : Math.max(0, policy.openMs - (clock.monotonic() - openedAt))),
  };
}

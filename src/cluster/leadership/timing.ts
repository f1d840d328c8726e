import type { LeaseTiming } from "./decide.ts";

/** All times of a lease follow from its length, so that nobody can set two of them that do not go together. */
export const leaseTimingOf = (leaseMs: number): LeaseTiming => ({
  leaseMs,
  marginMs: leaseMs / 6,
  beatMs: leaseMs / 4,
  headStartMs: leaseMs / 4,
});

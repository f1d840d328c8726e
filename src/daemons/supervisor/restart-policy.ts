import { backoffMs, type Random } from "../../kernel/index.ts";
import type { DaemonManagerConfig } from "./config.ts";

export type RestartRules = Pick<
  DaemonManagerConfig,
  | "restartWindowMs"
  | "recoveryCooldownMs"
  | "maxBackoffMs"
  | "backoffJitter"
  | "crashLoopRestarts"
  | "crashLoopWindowMs"
  | "cascadeRestarts"
  | "cascadeWindowMs"
  | "cascadePauseMs"
>;

/** Restarts that still count. Those of a clock that was set back count until it has caught up. */
export const recentRestarts = (restarts: readonly number[], windowMs: number, now: number): number[] =>
  restarts.filter((at) => now - at < windowMs);

export type RestartVerdict =
  | { readonly kind: "restart"; readonly delayMs: number }
  | { readonly kind: "give_up"; readonly restarts: number };

/** After a failure of its own: once more, later each time, until the restarts of the window are spent. */
export function afterFailure(
  rules: RestartRules,
  maxRestarts: number,
  restarts: readonly number[],
  now: number,
  random: Random,
): RestartVerdict {
  const counted = recentRestarts(restarts, rules.restartWindowMs, now).length;
  if (counted >= maxRestarts) return { kind: "give_up", restarts: counted };
  const jitter = rules.backoffJitter;
  // Jitter only shortens a wait; the first one is stretched by as much, so that the cooldown is the least.
  const firstMs = rules.recoveryCooldownMs / (1 - jitter);
  return { kind: "restart", delayMs: backoffMs({ firstMs, maxMs: rules.maxBackoffMs, jitter }, counted + 1, random) };
}

/** Notes a restart; what no longer counts is forgotten, so the list never holds more than the budget and one. */
export const spendRestart = (rules: RestartRules, restarts: readonly number[], now: number): number[] => [
  ...recentRestarts(restarts, rules.restartWindowMs, now),
  now,
];

/** Whether the restarts have come to be a crash loop that was not told within its window. */
export const isCrashLoop = (
  rules: RestartRules,
  restarts: readonly number[],
  emittedAt: number | null,
  now: number,
): boolean =>
  recentRestarts(restarts, rules.crashLoopWindowMs, now).length >= rules.crashLoopRestarts &&
  (emittedAt === null || now - emittedAt >= rules.crashLoopWindowMs);

/**
 * Many restarts of many daemons have one cause that none of them can mend. Then those that are not critical wait.
 */
export interface Cascade {
  /** Restarts of all daemons, within the window. */
  readonly restarts: readonly number[];
  readonly pausedUntil: number;
}

export const noCascade: Cascade = { restarts: [], pausedUntil: Number.NEGATIVE_INFINITY };

/** Notes one restart; at the limit a pause begins and the count starts anew. */
export function noteRestart(rules: RestartRules, cascade: Cascade, now: number): Cascade {
  const restarts = [...recentRestarts(cascade.restarts, rules.cascadeWindowMs, now), now];
  if (restarts.length < rules.cascadeRestarts) return { restarts, pausedUntil: cascade.pausedUntil };
  return { restarts: [], pausedUntil: now + rules.cascadePauseMs };
}

/** The decisions of this file as one value, so that a test can put a wrong one in their place and see it found. */
export const restartPolicy = { afterFailure, spendRestart, isCrashLoop, noteRestart } as const;
export type RestartPolicy = typeof restartPolicy;

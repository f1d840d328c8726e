import { type BackoffPolicy, backoffMs, type Random } from "../../kernel/index.ts";

/** Why an attempt ended without a result. It decides whether and when there is another one. */
export const FAILURE_CLASSES = ["retryable", "resource", "preempted", "bad_input"] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

export interface RetryRule {
  /** Null: never again. */
  readonly backoff: BackoffPolicy | null;
  /** Whether the attempt counts. */
  readonly spends: boolean;
}

/** The rule for each class. A shortage lasts longer than a hiccup; a wrong input stays wrong. */
export const retryRules: Readonly<Record<FailureClass, RetryRule>> = {
  retryable: { backoff: { firstMs: 5_000, maxMs: 300_000, jitter: 0.3 }, spends: true },
  resource: { backoff: { firstMs: 30_000, maxMs: 900_000, jitter: 0.3 }, spends: true },
  preempted: { backoff: { firstMs: 0, maxMs: 0, jitter: 0 }, spends: false },
  bad_input: { backoff: null, spends: true },
};

/** A time to wait that is longer than any of these was written by a clock that has been set back since: it is over. */
export const MAX_BACKOFF_MS = Math.max(
  ...Object.values(retryRules).map(({ backoff }) => (backoff === null ? 0 : backoff.maxMs * (1 + backoff.jitter))),
);

export type RetryVerdict = { readonly again: false } | { readonly again: true; readonly afterMs: number };

/** Whether there is another attempt, and after how long. `attempts` counts the one that failed. */
export function judgeRetry(failure: FailureClass, attempts: number, maxAttempts: number, random: Random): RetryVerdict {
  const { backoff } = retryRules[failure];
  if (backoff === null || attempts >= maxAttempts) return { again: false };
  return { again: true, afterMs: backoffMs(backoff, attempts, random) };
}

/** The last so many characters, cut at the front and marked as cut. */
export const tailOf = (text: string, max: number): string =>
  text.length <= max ? text : `... ${text.slice(text.length - max + 4)}`;

export const headOf = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 4)} ...`;

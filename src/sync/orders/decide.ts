/** When a transfer that failed is tried again, and when it is given up. */

export interface TryLimits {
  readonly maxAttempts: number;
  /** Before the second try; each further one waits twice as long. */
  readonly firstWaitMs: number;
}

/** When the next try may begin; null if there is none. */
export const nextTryAt = (attempts: number, at: number, { maxAttempts, firstWaitMs }: TryLimits): number | null =>
  attempts >= maxAttempts ? null : at + firstWaitMs * 2 ** (attempts - 1);

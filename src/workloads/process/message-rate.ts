/**
 * How many messages a program may send: so many a second, measured over a few seconds. While we were busy a pipe may
 * have filled up, and all of it arrives at once; that is why the bucket holds several seconds' worth.
 */
const BURST_SECONDS = 4;

export interface MessageRate {
  /** Takes note of one message; false when it is one too many. */
  take(nowMs: number): boolean;
  /** A new job is a new allowance: how fast jobs follow each other is our doing. */
  refill(): void;
}

export function createMessageRate(perSecond: number): MessageRate {
  const most = perSecond * BURST_SECONDS;
  let left = most;
  let lastMs: number | undefined;
  return {
    take(nowMs) {
      left = Math.min(most, left + ((nowMs - (lastMs ?? nowMs)) / 1_000) * perSecond);
      lastMs = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    refill() {
      left = most;
    },
  };
}

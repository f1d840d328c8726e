/**
 * How many messages a program may send: so many a second, measured over a few seconds. While we were busy a pipe may
 * have filled up, and all of it arrives at once; that is why the bucket holds several seconds' worth.
 */
const BURST_SECONDS = 4;

export function createMessageRate(perSecond: number) {
  const max = perSecond * BURST_SECONDS;
  let left = max;
  let lastMs: number | undefined;
  return {
    /** Takes note of one message; false when it is one too many. */
    take(nowMs: number): boolean {
      left = Math.min(max, left + ((nowMs - (lastMs ?? nowMs)) / 1_000) * perSecond);
      lastMs = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    /** A new job is a new allowance: how fast jobs follow each other is our doing. */
    refill(): void {
      left = max;
    },
  };
}

/** Requests may overtake each other within so many. */
export const WINDOW = 1_024;

/**
 * Numbers that were seen: each counts once. Those far behind the newest are refused, because nobody remembers whether they
 * were seen.
 */
export interface ReplayWindow {
  /** Whether the number is new; then it is seen from here on. */
  take(counter: number): boolean;
}

export function createReplayWindow(size = WINDOW): ReplayWindow {
  const seen = new Uint8Array(size);
  let newest = -1;
  return {
    take(counter) {
      if (counter <= newest - size) return false;
      if (counter > newest) {
        // What lies between is not seen yet; its places were those of numbers that are too old now.
        const from = Math.max(newest + 1, counter - size + 1);
        for (let each = from; each <= counter; each += 1) seen[each % size] = 0;
        newest = counter;
      }
      const place = counter % size;
      if (seen[place] === 1) return false;
      seen[place] = 1;
      return true;
    },
  };
}

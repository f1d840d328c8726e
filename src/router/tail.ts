import type { AnyEvent } from "./event.ts";
import { isStoreTrouble } from "./store.port.ts";

const READ_RETRY_MS = 1_000;

/**
 * Puts committed events back into journal order. Commits of different callers may be noticed out of order, and an
 * operation of some room may append events that nobody here has seen; such gaps are read from the journal.
 */
export function createTail(
  head: number,
  release: (events: readonly AnyEvent[]) => void,
  readAfter: (seq: number, limit: number) => AnyEvent[],
  later: (run: () => void, delayMs: number) => void,
) {
  let seq = head;
  let early = new Map<number, AnyEvent>();
  let checking = false;

  const pass = (events: readonly AnyEvent[]) => {
    seq = events.at(-1)!.seq!;
    release(events);
  };
  const drainEarly = () => {
    const run: AnyEvent[] = [];
    for (let next = early.get(seq + 1); next !== undefined; next = early.get(seq + 1 + run.length)) {
      early.delete(next.seq!);
      run.push(next);
    }
    if (run.length > 0) pass(run);
  };
  const fillGap = () => {
    checking = false;
    while (early.size > 0) {
      let missing: AnyEvent[];
      try {
        missing = readAfter(seq, 1_000);
      } catch (thrown) {
        if (!isStoreTrouble(thrown)) throw thrown;
        checking = true;
        return later(fillGap, READ_RETRY_MS);
      }
      if (missing.length === 0) break;
      for (const event of missing) early.delete(event.seq!);
      pass(missing);
    }
    early = new Map();
  };
  return {
    get seq() {
      return seq;
    },
    add(events: readonly AnyEvent[]) {
      const fresh = events.filter((event) => event.seq !== null && event.seq > seq);
      if (fresh.length === 0) return;
      for (const event of fresh) early.set(event.seq!, event);
      drainEarly();
      if (early.size > 0 && !checking) {
        checking = true;
        // A few turns give the other commits the time to be noticed; then the journal is asked.
        later(fillGap, 0);
      }
    },
  };
}

export type Tail = ReturnType<typeof createTail>;

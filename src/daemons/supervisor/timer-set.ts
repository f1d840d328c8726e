import type { Clock, Timer } from "../../kernel/index.ts";

/** Timers that end together: whoever owns the set cannot leave one behind. */
export function createTimerSet(clock: Clock) {
  const live = new Set<Timer>();
  return {
    /** A held timer keeps the process alive: somebody waits for what it brings. */
    after(delayMs: number, run: () => void, hold?: "hold"): Timer {
      const timer = clock.after(
        delayMs,
        () => {
          live.delete(timer);
          run();
        },
        hold,
      );
      live.add(timer);
      return {
        cancel() {
          live.delete(timer);
          timer.cancel();
        },
      };
    },
    clear() {
      for (const timer of live) timer.cancel();
      live.clear();
    },
  };
}

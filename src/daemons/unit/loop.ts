import type { Clock, Timer } from "../../kernel/index.ts";

interface UnitLoopOptions {
  readonly clock: Clock;
  readonly everyMs: number;
  /**
   * Runs one tick. Resolves when the tick is really over, also one that ran into its time limit: two ticks of one unit
   * never overlap, and one that hangs for ever shows in the unit's health instead of piling up.
   */
  readonly tick: () => Promise<void>;
}

/** Tick, pause, tick: the pause begins when the tick has ended. */
export function createUnitLoop(options: UnitLoopOptions) {
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let isWoken = false;
  let state: "new" | "started" | "stopped" = "new";
  const schedule = (delayMs: number) => {
    timer = options.clock.after(delayMs, () => {
      timer = undefined;
      isWoken = false;
      running = options.tick().then(() => {
        running = undefined;
        if (state === "started") schedule(isWoken ? 0 : options.everyMs);
      });
    });
  };
  return {
    /** Begins at once with the first tick. */
    start() {
      if (state !== "new") return;
      state = "started";
      schedule(0);
    },
    /** The next tick comes now, or right after the one that runs. */
    wake() {
      if (state !== "started") return;
      isWoken = true;
      if (timer === undefined) return;
      timer.cancel();
      schedule(0);
    },
    /** No tick begins after this; resolves when the one that runs is over. Twice is once. */
    async stop() {
      state = "stopped";
      timer?.cancel();
      timer = undefined;
      await running;
    },
  };
}

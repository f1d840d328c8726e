/** Time that only the test moves: whatever a promise waits for comes at once. */
import type { VirtualClock } from "../../src/kernel/index.ts";

/** Everything that is already on its way gets its turn. */
export const breathe = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Moves the clock from timer to timer until the work is done. */
export const driver = (clock: VirtualClock) => {
  return async <T>(work: Promise<T>): Promise<T> => {
    let over = false;
    const end = () => {
      over = true;
    };
    work.then(end, end);
    await breathe();
    while (!over) {
      clock.step();
      await breathe();
    }
    return work;
  };
};

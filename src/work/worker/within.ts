import type { Clock } from "../../kernel/index.ts";

/** Waits for it, at most so long. */
export async function within(clock: Clock, waited: Promise<unknown>, maxMs: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = clock.after(maxMs, late.resolve, "hold");
  await Promise.race([waited, late.promise]);
  timer.cancel();
}

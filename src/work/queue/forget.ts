import type { Store } from "../../router/index.ts";
import { forgetLanes, forgetWork } from "../tables.ts";
import { adoptHeld } from "./open-queue.ts";
import type { QueueState } from "./queue-state.ts";

const FORGET_AT_ONCE = 1_000;

/** Forgets finished jobs beyond their time or number, and lanes that nobody uses. */
export async function forgetFinished(store: Store, state: QueueState, now: number): Promise<{ forgotten: number }> {
  const { limits, lanes, times } = state;
  let forgotten = 0;
  for (;;) {
    const [done] = await store.commit([
      forgetWork({
        completedBefore: now - limits.keepCompletedMs,
        failedBefore: now - limits.keepFailedMs,
        maxFinished: limits.maxFinished,
        max: FORGET_AT_ONCE,
      }),
    ]);
    forgotten += done.forgotten;
    if (done.forgotten < FORGET_AT_ONCE) break;
  }
  if (lanes.size > limits.maxLanes / 2) {
    await store.commit([forgetLanes({})]);
    lanes.reload();
  }
  // A line or a lease that was overlooked, for whatever reason, is found from here on.
  lanes.lookEverywhere();
  adoptHeld(store, times);
  return { forgotten };
}

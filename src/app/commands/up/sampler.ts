import { createAlerts } from "../../../cluster/index.ts";
import type { Cause } from "../../../daemons/index.ts";
import type { Rows } from "../../../events/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import type { Coordination } from "../../bootstrap.ts";
import type { LoopDelay } from "./loop-delay.ts";
import type { Sample } from "./up-view.ts";

/** More than this is many, whatever the number. */
const MAX_ALERTS = 100;

/** The whole status costs some queries: it is judged from time to time, and the counters every time. */
const JUDGE_EVERY_MS = 5_000;

/** Takes looks at a running coordination; rates are those between two looks. */
export function createSampler<R extends Rows>(
  { router, daemons, uptimeMs, causes }: Coordination<R>,
  clock: Clock,
  loop: LoopDelay,
): () => Sample {
  let before = { atMs: clock.monotonic(), events: router.getStats().total_events };
  let judgedAt = Number.NEGATIVE_INFINITY;
  let troubles: readonly Cause[] = [];
  let alerts = 0;
  const book = createAlerts({ store: router.store, clock });
  return () => {
    const atMs = clock.monotonic();
    const events = router.getStats().total_events;
    const perSecond = ((events - before.events) / Math.max(1, atMs - before.atMs)) * 1_000;
    before = { atMs, events };
    if (atMs - judgedAt >= JUDGE_EVERY_MS) {
      judgedAt = atMs;
      alerts = book.list({ status: "open", limit: MAX_ALERTS }).length;
      troubles = causes();
    }
    const known = Object.values(daemons.getStatus()).filter(({ wanted }) => wanted);
    const { pending, retrying } = router.deadLetters.counts();
    return {
      uptimeMs: uptimeMs(),
      ready: known.filter(({ state }) => state === "running" || state === "degraded").length,
      wanted: known.length,
      events,
      perSecond,
      lag: Math.max(0, ...Object.values(router.consumerLag())),
      deadLetters: pending + retrying,
      alerts,
      loopDelayMs: loop.look().p99Ms,
      troubles,
    };
  };
}

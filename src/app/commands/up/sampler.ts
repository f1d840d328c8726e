import { alertBook } from "../../../cluster/index.ts";
import type { Rows } from "../../../events/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import { diagnose, type StatusReport, type Trouble } from "../../../surfaces/cli/index.ts";
import type { Coordination } from "../../bootstrap.ts";
import type { LoopDelay } from "./loop-delay.ts";
import type { Sample } from "./up-view.ts";

/** More than this is many, whatever the number. */
const MOST_ALERTS = 100;

/** The whole status costs some queries: it is judged from time to time, and the counters every time. */
const JUDGE_EVERY_MS = 5_000;

/** Takes looks at a running coordination; rates are those between two looks. */
export function createSampler<R extends Rows>(
  { router, daemons, startedAt, status }: Coordination<R>,
  clock: Clock,
  loop: LoopDelay,
): () => Sample {
  let before = { atMs: clock.monotonic(), events: router.getStats().total_events };
  let judgedAt = Number.NEGATIVE_INFINITY;
  let troubles: readonly Trouble[] = [];
  let alerts = 0;
  const book = alertBook({ store: router.store, clock });
  return () => {
    const atMs = clock.monotonic();
    const events = router.getStats().total_events;
    const perSecond = ((events - before.events) / Math.max(1, atMs - before.atMs)) * 1_000;
    before = { atMs, events };
    if (atMs - judgedAt >= JUDGE_EVERY_MS) {
      judgedAt = atMs;
      const open = book.list({ status: "open", limit: MOST_ALERTS });
      const count = (severity: string) => open.filter((alert) => alert.severity === severity).length;
      alerts = open.length;
      troubles = diagnose(status() as unknown as StatusReport, clock.now(), {
        critical: count("critical"),
        error: count("error"),
        warning: count("warning"),
      });
    }
    const known = Object.values(daemons.getStatus()).filter(({ wanted }) => wanted);
    const { pending, retrying } = router.deadLetters.counts();
    return {
      uptimeMs: clock.now() - startedAt,
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

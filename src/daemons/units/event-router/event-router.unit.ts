import { consumerStatus, enforceRetention, expireConsumers, trimDedup } from "../../../router/index.ts";
import type { UnitHealth } from "../../health.ts";
import { type EventRouterLimits, eventRouterDefaults } from "../../limits.ts";
import type { DaemonsServices } from "../../services.ts";
import { defineDaemon, type Wiring } from "../../unit/shape.ts";

const wiring = {
  name: "event_router",
  layer: 1,
  placement: "each-process",
  profiles: ["coordinator"],
  daemonTypes: ["EVENT_ROUTER", "CROSS_PROCESS_POLLER"],
  alsoKnownAs: ["UnifiedEventRouter", "CrossProcessEventQueue", "StageEventBus"],
  emits: ["ERROR"],
} as const satisfies Wiring;

/** How far the consumers of this process are behind; the one that is furthest behind decides. */
export function lagHealth(lag: Readonly<Record<string, number>>, warning: number): UnitHealth {
  const behind = Object.entries(lag).sort(([, a], [, b]) => b - a);
  const [worst, rows] = behind[0] ?? ["", 0];
  const details = { lag: Object.fromEntries(behind.slice(0, 20)) };
  return rows > warning
    ? { status: "degraded", message: `'${worst}' is ${rows} journal rows behind`, details }
    : { status: "running", message: "", details };
}

/**
 * Supervises delivery in this process: writes marks down, keeps the journal within its bounds, and ends what is owed to
 * consumers that stay away, loudly.
 */
export const eventRouter = (
  { router, store }: Pick<DaemonsServices, "router" | "store">,
  given: Partial<EventRouterLimits> = {},
) => {
  const settings = { ...eventRouterDefaults, ...given };
  return defineDaemon({
    ...wiring,
    state: { cache: () => ({ firstAt: undefined as number | undefined, sweptAt: Number.NEGATIVE_INFINITY }) },
    loop: {
      everyMs: settings.everyMs,
      async tick({ now, cache, rows, emit, log, afterCommit }) {
        cache.firstAt ??= now;
        await router.flushMarks();
        if (now - cache.sweptAt < settings.sweepEveryMs) return;
        if (now - cache.firstAt >= settings.returnMs) {
          const silentSince = now - router.settings.consumerExpirySeconds * 1_000;
          const gone = consumerStatus(store).filter(
            (consumer) =>
              consumer.expired_at === null && consumer.event_types !== "" && consumer.last_seen_at < silentSince,
          );
          for (const { consumer, lag, last_seen_at } of gone) {
            const days = Math.round((now - last_seen_at) / 86_400_000);
            const error = `consumer '${consumer}' was away for ${days} days and has expired; it leaves ${lag} journal rows unread`;
            log.error(error, { consumer, unread: lag });
            emit.ERROR({
              component: wiring.name,
              error,
              error_code: "CONSUMER_EXPIRED",
              severity: "error",
              details: { consumer, unread: lag },
            });
          }
          // In one commit with the alarm, so that nothing expires in silence.
          if (gone.length > 0) rows.apply(expireConsumers({ silentSince, at: now }));
        }
        const { deleted, bytes } = await enforceRetention(store, {
          olderThan: now / 1_000 - router.settings.retentionSeconds,
          maxBytes: router.settings.retentionBytes,
          chunk: settings.chunk,
        });
        if (deleted > 0) log.info("old events were deleted from the journal", { deleted, bytes });
        const before = now / 1_000 - router.settings.dedupWindowSeconds;
        for (;;) {
          const [trimmed] = await store.commit([trimDedup({ before, chunk: settings.chunk })]);
          if (trimmed.deleted < settings.chunk) break;
        }
        afterCommit(() => {
          cache.sweptAt = now;
        });
      },
    },
    health: () =>
      store.fault === null
        ? lagHealth(router.consumerLag(), settings.lagWarning)
        : { status: "degraded", message: `the store refuses commits: ${store.fault.message}` },
  });
};

import {
  consumerStatus,
  type EventRouter,
  enforceRetention,
  expireConsumers,
  type RouterSettings,
  type Store,
  trimDedup,
} from "../router/index.ts";
import type { UnitHealth } from "./health.ts";
import { defineDaemon } from "./unit.ts";

export interface EventRouterDaemonPorts {
  readonly router: Pick<EventRouter, "flushMarks" | "consumerLag"> & {
    readonly settings: Pick<
      RouterSettings,
      "retentionSeconds" | "retentionBytes" | "consumerExpirySeconds" | "dedupWindowSeconds"
    >;
  };
  readonly store: Store;
  readonly settings?: Partial<EventRouterDaemonSettings>;
}

export interface EventRouterDaemonSettings {
  /** How often marks are written down. */
  readonly everyMs: number;
  /** How often the journal is trimmed and consumers are looked through. */
  readonly sweepEveryMs: number;
  /** Rows that one commit may delete, so that publishers never wait long. */
  readonly chunk: number;
  /** After a start, absent consumers have this long to come back before any of them expires. */
  readonly returnMs: number;
  /** Journal rows that a consumer of this process may be behind before health says so. */
  readonly lagWarning: number;
}

export const eventRouterDaemonDefaults: EventRouterDaemonSettings = {
  everyMs: 5_000,
  sweepEveryMs: 60_000,
  chunk: 500,
  returnMs: 600_000,
  lagWarning: 10_000,
};

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
export const eventRouterDaemon = ({ router, store, settings: given = {} }: EventRouterDaemonPorts) => {
  const settings = { ...eventRouterDaemonDefaults, ...given };
  return defineDaemon({
    name: "event_router",
    layer: 1,
    placement: "each-process",
    alsoKnownAs: [
      "EVENT_ROUTER",
      "CROSS_PROCESS_POLLER",
      "UnifiedEventRouter",
      "CrossProcessEventQueue",
      "StageEventBus",
    ],
    emits: ["ERROR"],
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
              component: "event_router",
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
          mostBytes: router.settings.retentionBytes,
          chunk: settings.chunk,
        });
        if (deleted > 0) log.info("old events left the journal", { deleted, bytes });
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

import { hash } from "node:crypto";
import { defineDaemon, onEach, type UnitContext, type Wiring } from "../../../daemons/index.ts";
import type { Log } from "../../../kernel/index.ts";
import type { AnyEvent, Operation } from "../../../router/index.ts";
import {
  type AbsenceRule,
  absenceKey,
  builtinAbsenceRules,
  createWatches,
  type Watches,
  type WatchNews,
} from "../../alerts/absence.ts";
import { saveWatches, storedWatches } from "../../alerts/absence-rows.ts";
import { dropReceivers, sinkState, waitingFor } from "../../alerts/alert-outbox.ts";
import { ageAlerts, closeAlertOf, forgetAlerts, raiseAlert } from "../../alerts/alert-rows.ts";
import { recipientsOf } from "../../alerts/alerts.ts";
import { type DeliverySettings, deliver, deliveryDefaults } from "../../alerts/delivery.ts";
import { alertEvents, judge } from "../../alerts/judge.ts";
import { isMuted, lastMute } from "../../alerts/mute.ts";
import { alertPolicies } from "../../alerts/rules.ts";
import { alertLimits } from "../../limits.ts";
import type { ClusterServices } from "../../services.ts";
import type { AlertSettings } from "../../settings.ts";

const wiring = {
  name: "alert_manager",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  alsoKnownAs: ["AlertManager"],
  dependsOn: ["event_router"],
  emits: [],
} as const satisfies Wiring;

interface Cache {
  readonly watches: Watches;
  /** What the watches found and no commit has told yet, in order. */
  news: readonly Operation[];
  /** On the clock that never goes back; undefined before the first look. */
  lookedAt: number | undefined;
  savedAt: number;
  forgotAt: number;
}

/** Events that only silence is judged by; the rest of them stands in the rules. */
const watchEvents = ["COORDINATOR_HEARTBEAT", "COORDINATOR_SHUTDOWN", "DAEMON_STOPPED"] as const;

/**
 * Turns alarming events, and the silence of expected ones, into alerts that open, count repeats, remind, escalate and close,
 * and sends them out. An alert, its messages and the ack of its event are one commit; sending happens in the loop, from rows,
 * so that no receiver holds up a handler and none loses an alert.
 */
export const alertManagerCoordinator = (
  services: Pick<ClusterServices, "store" | "clock" | "random" | "sinks" | "absence"> & {
    readonly settings: { readonly alerts: Pick<AlertSettings, "messagesPerMinute"> };
  },
  given: Partial<typeof alertLimits & DeliverySettings> = {},
) => {
  const { store, clock, random, sinks, absence, settings } = services;
  const limits = { ...alertLimits, ...given };
  const delivery = { ...deliveryDefaults, ...settings.alerts, ...given };
  const rules: readonly AbsenceRule[] = [...builtinAbsenceRules, ...absence];
  const to = recipientsOf(sinks);

  const hear = (event: AnyEvent, context: UnitContext<never, unknown, Cache>) => {
    const { rows, now, cache, afterCommit } = context;
    const payload = event.payload as Readonly<Record<string, unknown>>;
    for (const verdict of judge(event.eventType, payload))
      rows.apply(
        verdict.kind === "close"
          ? closeAlertOf({ key: verdict.key, at: now, to, by: event.eventType })
          : raiseAlert({
              ...verdict,
              id: `al_${event.eventId}`,
              event_type: event.eventType,
              event_id: event.eventId,
              at: now,
              to,
            }),
      );
    if (cache.watches.hears(event.eventType)) afterCommit(() => cache.watches.see(event.eventType, payload, now));
  };

  const raiseSilence = ({ rule, row }: WatchNews["silent"][number], now: number) =>
    raiseAlert({
      key: absenceKey(row),
      id: `al_${hash("sha256", `${absenceKey(row)} ${row.seen_at}`).slice(0, 32)}`,
      severity: rule.severity,
      title: rule.title,
      message: `no ${rule.event}${row.subject === "" ? "" : ` of ${row.subject}`} for ${Math.round(row.quiet_ms / 1_000)} s`,
      event_type: rule.event,
      event_id: null,
      subject: row.subject === "" ? rule.name : row.subject,
      policy: alertPolicies.lasting,
      at: now,
      to,
    });

  const watch = async (cache: Cache, now: number): Promise<void> => {
    const look = clock.monotonic();
    const { silent, back } = cache.watches.pass(look - (cache.lookedAt ?? look));
    cache.lookedAt = look;
    cache.news = [
      ...cache.news,
      ...back.map(({ rule, row }) =>
        closeAlertOf({ key: absenceKey(row), at: now, to, by: rule?.event ?? "configuration" }),
      ),
      ...silent.map((each) => raiseSilence(each, now)),
    ];
    const save = cache.news.length > 0 || now - cache.savedAt >= limits.saveEveryMs;
    if (!save) return;
    const changes = cache.watches.takeChanges();
    try {
      await store.commit([...cache.news, saveWatches(changes)]);
    } catch (thrown) {
      // A disk that refuses for a moment must not swallow an alarm: the next round tells all of it.
      cache.watches.putBack(changes);
      throw thrown;
    }
    cache.news = [];
    cache.savedAt = now;
  };

  const keepOrder = async (cache: Cache, now: number, log: Log): Promise<void> => {
    // A read first: a commit that changes nothing is still a commit.
    const due = () => store.read("SELECT 1 FROM alerts WHERE due_at <= ? LIMIT 1", now).length > 0;
    for (let round = 0; round < limits.agedRounds && due(); round += 1)
      await store.commit([ageAlerts({ now, max: limits.agedAtOnce, to })]);
    if (now - cache.forgotAt < limits.forgetEveryMs) return;
    cache.forgotAt = now;
    const [{ dropped }] = await store.commit([dropReceivers({ keep: sinks.map(({ name }) => name), at: now })]);
    if (dropped > 0) log.warn("messages waited for receivers that are no longer configured", { dropped });
    const { keepClosedMs, maxClosed } = limits;
    for (;;) {
      const forget = forgetAlerts({ closedBefore: now - keepClosedMs, maxClosed, chunk: limits.forgottenAtOnce });
      const [{ deleted }] = await store.commit([forget]);
      if (deleted < limits.forgottenAtOnce) return;
    }
  };

  const mutedUntil = (now: number): number | null => {
    const mute = lastMute(store);
    return isMuted(mute, now) ? mute.until / 1_000 : null;
  };

  const heardByRules = onEach([...new Set([...alertEvents, ...watchEvents])], hear as never);
  const heardByUser = Object.fromEntries(
    rules.flatMap(({ event, endedBy }) => [event, ...endedBy.map((end) => end.event)]).map((event) => [event, hear]),
  );

  return defineDaemon({
    ...wiring,
    state: {
      cache: (): Cache => ({
        watches: createWatches(rules, storedWatches(store), clock.now()),
        news: [],
        lookedAt: undefined,
        savedAt: clock.now(),
        forgotAt: Number.NEGATIVE_INFINITY,
      }),
    },
    on: { ...heardByUser, ...heardByRules } as typeof heardByRules,
    loop: {
      everyMs: limits.everyMs,
      async tick({ cache, now, log, signal }) {
        await watch(cache, now);
        await keepOrder(cache, now, log);
        await Promise.all(
          sinks.map((sink) => deliver({ store, clock, random, log, settings: delivery }, sink, signal)),
        );
      },
    },
    health: ({ cache, now }) => {
      const states = sinks.map(({ name: sink }) => {
        const { failures, error } = sinkState(store, sink);
        return { sink, waiting: waitingFor(store, sink), failures, error };
      });
      const failing = states.filter(({ failures }) => failures >= limits.failing);
      return {
        status: failing.length === 0 ? "running" : "degraded",
        message: failing
          .map(({ sink, waiting, error }) => `'${sink}' takes no alerts (${error}); ${waiting} wait`)
          .join("; "),
        details: { sinks: states, watches: cache.watches.size, muted_until: mutedUntil(now) },
      };
    },
    // Longer than a slow receiver may hold a round of the loop.
    timeoutMs: 120_000,
  });
};

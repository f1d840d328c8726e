import { hash } from "node:crypto";
import { defineDaemon, onEach, type UnitContext } from "../daemons/index.ts";
import type { Clock, Log, Random } from "../kernel/index.ts";
import type { AnyEvent, Store } from "../router/index.ts";
import {
  type AbsenceRule,
  absenceKey,
  builtinAbsenceRules,
  createWatches,
  type Watches,
  type WatchNews,
} from "./alerts/absence.ts";
import { saveWatches, storedWatches } from "./alerts/absence-rows.ts";
import { ageAlerts, closeAlertOf, forgetAlerts, type Recipient, raiseAlert } from "./alerts/alert-rows.ts";
import { type DeliverySettings, deliver, deliveryDefaults } from "./alerts/delivery.ts";
import { alertEvents, judge } from "./alerts/judge.ts";
import { dropReceivers, sinkState, waitingFor } from "./alerts/outbox.ts";
import { alertPolicies } from "./alerts/rules.ts";
import type { AlertSink } from "./alerts/sink.ts";

export interface AlertManagerSettings extends DeliverySettings {
  readonly everyMs: number;
  readonly keepClosedMs: number;
  readonly mostClosed: number;
  /** How often watches are written down. */
  readonly saveEveryMs: number;
}

export const alertManagerDefaults: AlertManagerSettings = {
  ...deliveryDefaults,
  everyMs: 1_000,
  keepClosedMs: 30 * 86_400_000,
  mostClosed: 10_000,
  saveEveryMs: 60_000,
};

export interface AlertManagerPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly sinks: readonly AlertSink[];
  /** Rules of the user, beside those that every system has. */
  readonly absence?: readonly AbsenceRule[];
  readonly settings?: Partial<AlertManagerSettings>;
}

interface Cache {
  readonly watches: Watches;
  /** What the watches found and no commit has told yet, in order. */
  news: readonly ({ readonly kind: "back" | "silent" } & WatchNews["silent"][number])[];
  /** On the clock that never goes back; undefined before the first look. */
  lookedAt: number | undefined;
  savedAt: number;
  forgotAt: number;
}

const AGED_AT_ONCE = 200;
const AGED_ROUNDS = 50;
const FORGOTTEN_AT_ONCE = 500;
const FORGET_EVERY_MS = 3_600_000;
/** A sink that failed so often in a row is worth a word. */
const FAILING = 3;

/** Events that only silence is judged by; the rest of them stands in the rules. */
const watchEvents = ["COORDINATOR_HEARTBEAT", "COORDINATOR_SHUTDOWN", "DAEMON_STOPPED"] as const;

export const recipientsOf = (sinks: readonly AlertSink[]): Recipient[] =>
  sinks.map(({ name, least }) => ({ sink: name, least }));

/**
 * Turns alarming events, and the silence of expected ones, into alerts that open, count repeats, remind, escalate and close,
 * and sends them out. An alert, its messages and the ack of its event are one commit; sending happens in the loop, from rows,
 * so that no receiver holds up a handler and none loses an alert.
 */
export const alertManagerCoordinator = (ports: AlertManagerPorts) => {
  const { store, clock, random, sinks } = ports;
  const settings = { ...alertManagerDefaults, ...ports.settings };
  const rules: readonly AbsenceRule[] = [...builtinAbsenceRules, ...(ports.absence ?? [])];
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

  const watch = async (cache: Cache, now: number): Promise<void> => {
    const look = clock.monotonic();
    const { silent, back } = cache.watches.pass(look - (cache.lookedAt ?? look));
    cache.lookedAt = look;
    cache.news = [
      ...cache.news,
      ...back.map((each) => ({ kind: "back" as const, ...each })),
      ...silent.map((each) => ({ kind: "silent" as const, ...each })),
    ];
    const save = cache.news.length > 0 || now - cache.savedAt >= settings.saveEveryMs;
    if (!save) return;
    const changes = cache.watches.takeChanges();
    try {
      await store.commit([...cache.news.map((each) => operationOf(each, now)), saveWatches(changes)]);
    } catch (thrown) {
      // A disk that refuses for a moment must not swallow an alarm: the next round tells all of it.
      cache.watches.putBack(changes);
      throw thrown;
    }
    cache.news = [];
    cache.savedAt = now;
  };

  const operationOf = ({ kind, rule, row }: Cache["news"][number], now: number) =>
    kind === "back"
      ? closeAlertOf({ key: absenceKey(row), at: now, to, by: rule.event || "configuration" })
      : raiseAlert({
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

  const keepOrder = async (cache: Cache, now: number, log: Log): Promise<void> => {
    // A read first: a commit that changes nothing is still a commit.
    const due = () => store.read("SELECT 1 FROM alerts WHERE due_at <= ? LIMIT 1", now).length > 0;
    for (let round = 0; round < AGED_ROUNDS && due(); round += 1)
      await store.commit([ageAlerts({ now, most: AGED_AT_ONCE, to })]);
    if (now - cache.forgotAt < FORGET_EVERY_MS) return;
    cache.forgotAt = now;
    const [{ dropped }] = await store.commit([dropReceivers({ keep: sinks.map(({ name }) => name), at: now })]);
    if (dropped > 0) log.warn("messages waited for receivers that are no longer configured", { dropped });
    const { keepClosedMs, mostClosed } = settings;
    for (;;) {
      const forget = forgetAlerts({ closedBefore: now - keepClosedMs, mostClosed, chunk: FORGOTTEN_AT_ONCE });
      const [{ deleted }] = await store.commit([forget]);
      if (deleted < FORGOTTEN_AT_ONCE) return;
    }
  };

  const heardByRules = onEach([...new Set([...alertEvents, ...watchEvents])], hear as never);
  const heardByUser = Object.fromEntries(
    rules.flatMap(({ event, endedBy }) => [event, ...endedBy.map((end) => end.event)]).map((event) => [event, hear]),
  );

  return defineDaemon({
    name: "alert_manager",
    layer: 2,
    placement: "leader",
    alsoKnownAs: ["AlertManager"],
    dependsOn: ["event_router"],
    emits: [],
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
      everyMs: settings.everyMs,
      async tick({ cache, now, log, signal }) {
        await watch(cache, now);
        await keepOrder(cache, now, log);
        await Promise.all(sinks.map((sink) => deliver({ store, clock, random, log, settings }, sink, signal)));
      },
    },
    health: ({ cache }) => {
      const states = sinks.map(({ name }) => ({ name, waiting: waitingFor(store, name), ...sinkState(store, name) }));
      const failing = states.filter(({ failures }) => failures >= FAILING);
      const details = {
        sinks: states.map(({ name, waiting, failures, error }) => ({ sink: name, waiting, failures, error })),
        watches: cache.watches.size,
      };
      return failing.length === 0
        ? { status: "running", message: "", details }
        : {
            status: "degraded",
            message: failing
              .map(({ name, waiting, error }) => `'${name}' takes no alerts (${error}); ${waiting} wait`)
              .join("; "),
            details,
          };
    },
    // Longer than a slow receiver may hold a round of the loop.
    timeoutMs: 120_000,
  });
};

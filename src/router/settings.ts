/** What operators may set of the router and of a node's outbox. */
import {
  decimal,
  megabytes,
  type SettingValues,
  seconds,
  settingDefaults,
  whole,
  yesNo,
} from "../kernel/settings/index.ts";

const YEAR_SECONDS = 365 * 86_400;

export const routerSettings = {
  handlerTimeoutMs: seconds({
    key: "router.handler_timeout",
    variable: "RINGRIFT_EVENT_HANDLER_TIMEOUT",
    min: 0.001,
    max: 86_400,
    default: 600,
    about: "Time limit of an event handler. After that, the try has failed.",
  }),
  strictNames: yesNo({
    key: "router.validation_strict",
    variable: "RINGRIFT_EVENT_VALIDATION_STRICT",
    default: false,
    about: "Refuse events that the catalog does not know.",
  }),
  trace: yesNo({
    key: "router.trace",
    variable: "RINGRIFT_EVENT_TRACE",
    default: false,
    about: "Log every publish and delivery.",
  }),
  dedupWindowSeconds: decimal({
    key: "router.dedup_window",
    variable: "RINGRIFT_EVENT_DEDUP_WINDOW",
    min: 0,
    max: 86_400,
    unit: "seconds",
    default: 60,
    about: "Time in which repeated content is suppressed, for events that ask for it; 0 switches it off.",
  }),
  maxAttempts: whole({
    key: "router.max_attempts",
    variable: "RINGRIFT_EVENT_MAX_ATTEMPTS",
    min: 1,
    max: 100,
    unit: "tries",
    default: 5,
    about: "Tries before a delivery becomes a dead letter.",
  }),
  retryFirstMs: seconds({
    key: "router.retry_first",
    variable: "RINGRIFT_EVENT_RETRY_FIRST",
    min: 0.001,
    max: 3_600,
    default: 1,
    about: "Longest wait before the second try; it doubles with each try.",
  }),
  retryMostMs: seconds({
    key: "router.retry_most",
    variable: "RINGRIFT_EVENT_RETRY_MOST",
    min: 0.001,
    max: 86_400,
    default: 60,
    about: "Longest wait between two tries.",
  }),
  breakerThreshold: whole({
    key: "router.breaker_threshold",
    variable: "RINGRIFT_EVENT_BREAKER_THRESHOLD",
    min: 1,
    max: 10_000,
    unit: "failures",
    default: 10,
    about: "Failures in a row that open a handler's breaker.",
  }),
  breakerOpenMs: seconds({
    key: "router.breaker_open",
    variable: "RINGRIFT_EVENT_BREAKER_OPEN",
    min: 0.001,
    max: 86_400,
    default: 30,
    about: "How long a breaker stays open before one event may try again.",
  }),
  historySize: whole({
    key: "router.history_size",
    variable: "RINGRIFT_EVENT_HISTORY_SIZE",
    min: 1,
    max: 100_000,
    unit: "events",
    default: 1_000,
    about: "Number of events kept in memory for `history`.",
  }),
  window: whole({
    key: "router.window",
    variable: "RINGRIFT_EVENT_WINDOW",
    min: 1,
    max: 65_536,
    unit: "deliveries",
    default: 512,
    about: "Deliveries in memory for one consumer, at most.",
  }),
  concurrency: whole({
    key: "router.concurrency",
    variable: "RINGRIFT_EVENT_CONCURRENCY",
    min: 1,
    max: 1_024,
    unit: "handlers",
    default: 16,
    about: "Handlers of one consumer that run at once, on different order keys.",
  }),
  retentionSeconds: decimal({
    key: "router.retention",
    variable: "RINGRIFT_EVENT_RETENTION",
    min: 60,
    max: 10 * YEAR_SECONDS,
    unit: "seconds",
    default: 7 * 86_400,
    about: "How long the journal keeps events that no consumer still needs.",
  }),
  retentionBytes: whole({
    key: "router.retention_bytes",
    variable: "RINGRIFT_EVENT_RETENTION_BYTES",
    min: 1_000_000,
    max: 10_000_000_000_000,
    unit: "bytes",
    default: 1_000_000_000,
    about: "Size above which the journal removes such events earlier.",
  }),
  maxConsumers: whole({
    key: "router.max_consumers",
    variable: "RINGRIFT_EVENT_MAX_CONSUMERS",
    min: 1,
    max: 100_000,
    unit: "consumers",
    default: 50,
    about: "Maximum number of durable consumers of one token or node; above it, TOO_MANY_CONSUMERS.",
  }),
  consumerExpirySeconds: decimal({
    key: "router.consumer_expiry",
    variable: "RINGRIFT_EVENT_CONSUMER_EXPIRY",
    min: 60,
    max: 10 * YEAR_SECONDS,
    unit: "seconds",
    default: 7 * 86_400,
    about: "A consumer that was disconnected this long expires, with an ERROR event.",
  }),
};

export type RouterSettings = SettingValues<typeof routerSettings>;

export const defaultRouterSettings: RouterSettings = settingDefaults(routerSettings);

export const outboxSettings = {
  maxEvents: whole({
    key: "worker.outbox_events",
    variable: "RINGRIFT_WORKER_OUTBOX_EVENTS",
    min: 1,
    max: 10_000_000,
    unit: "events",
    default: 100_000,
    about: "Maximum number of events in the outbox of a joined node; above it, OUTBOX_FULL.",
  }),
  maxBytes: megabytes({
    key: "worker.outbox_mb",
    variable: "RINGRIFT_WORKER_OUTBOX_MB",
    min: 0.01,
    max: 1_000_000,
    default: 256,
    about: "Maximum size of the outbox. Each event counts as its payload plus one kilobyte.",
  }),
};

export type OutboxBounds = SettingValues<typeof outboxSettings>;

export const outboxBounds: OutboxBounds = settingDefaults(outboxSettings);

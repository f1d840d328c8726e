import { settingDefaults } from "../kernel/settings/index.ts";
import { maintenanceSettings } from "./settings.ts";

/** Numbers of this room that no operator sets; beside them, where they belong together, those of `settings.ts`. */
const HOUR = 3_600_000;

/** So many actions of the supervisor are kept. */
export const KEPT_ACTIONS = 1_000;
/** Texts in events and rows are cut here. */
export const MAX_TEXT = 2_000;

/** A subscription that fails is tried again after these waits. */
export const SUBSCRIBE_RETRY_MS = [1_000, 2_000, 4_000] as const;
export const HEARTBEAT_MS = 30_000;
/** What a handler still has when its unit stops, before its unfinished work is left to the next run. */
export const STOP_GRACE_MS = 10_000;

/** A shown condition that nobody repeats is over after this. */
export const SHOW_CONDITION_MS = 6 * 3_600_000;

export const eventRouterDefaults = {
  /** How often marks are written down. */
  everyMs: 5_000,
  /** How often the journal is trimmed and consumers are looked through. */
  sweepEveryMs: 60_000,
  /** Rows that one commit may delete, so that publishers never wait long. */
  chunk: 500,
  /** After a start, absent consumers have this long to come back before any of them expires. */
  returnMs: 600_000,
  /** Journal rows that a consumer of this process may be behind before health says so. */
  lagWarning: 10_000,
};

export const dlqRetryDefaults = {
  everyMs: 60_000,
  firstMs: 60_000,
  maxMs: 3_600_000,
  /** A letter that was sent back so often is left for a person. */
  maxRetries: 5,
  /** Letters sent back in one tick. */
  batch: 100,
  /** Pending letters at which operators are told, lowest first. */
  alertAt: [50, 1_000] as readonly number[],
  /** Pause between two alerts; within the window of content dedup the second one would be taken for the first. */
  alertPauseMs: 60_000,
  /** Resolved letters are forgotten after this. */
  keepResolvedMs: 7 * 86_400_000,
};

export const watchRules = {
  everyMs: 5_000,
  /** A heartbeat older than this is late, */
  lateMs: 90_000,
  /** and older than this means that the unit is silent. */
  silentMs: 300_000,
  /** A piece of work that runs longer is stuck. */
  stuckMs: 300_000,
  /** A loop that is past its time by more is late. */
  overdueMs: 120_000,
  /** What a unit says against itself must hold so long before it is told: one bad word is no news. */
  worseAfterMs: 25_000,
  /** A unit must be better for so long before that is told. */
  betterAfterMs: 55_000,
};

export const httpServerLimits = {
  everyMs: 5_000,
  backoff: { firstMs: 1_000, maxMs: 60_000, jitter: 0.2 },
  /** One silent door may be a moment's load; twice in a row it is opened anew. One that is gone is, at once. */
  patience: 2,
};

export const maintenanceDefaults = {
  ...settingDefaults(maintenanceSettings),
  everyMs: 60_000,
  trimEveryMs: HOUR,
  shrinkEveryMs: HOUR,
  optimizeEveryMs: 24 * HOUR,
  walEveryMs: 5 * 60_000,
  /** A write-ahead log that is longer is cut. */
  walBytes: 64_000_000,
  /** A chore that failed is tried again after this, or at its next time if that is sooner. */
  retryMs: 10 * 60_000,
  vacuum: {
    /** Free pages are used again; only from so many bytes on, */
    minBytes: 16_000_000,
    /** and only where they are this share of the file, it is worth the writing. */
    share: 0.25,
    /** Pages of one commit: some 10 ms, in which publishers wait. */
    pages: 64,
    /** Commits of one go. */
    maxCommits: 1_000,
  },
  trim: {
    letterActions: 10_000,
    /** Tables of units, and how many rows of each are kept. */
    tables: [{ table: "daemon_actions", keep: KEPT_ACTIONS }],
    chunk: 500,
  },
};

export type EventRouterLimits = Readonly<typeof eventRouterDefaults>;
export type DlqRetryLimits = Readonly<typeof dlqRetryDefaults>;
export type WatchRules = Readonly<typeof watchRules>;
export type MaintenanceLimits = Readonly<typeof maintenanceDefaults>;

/** Settings are in seconds, as people think of them; the router counts milliseconds where it sets timers. */
import type { RouterSettings } from "../../router/index.ts";
import type { SettingKey, SettingValues } from "./values.ts";

interface Field {
  readonly key: Extract<SettingKey, `router.${string}`>;
  /** Of the router's unit, so many are one of the setting's. */
  readonly times?: 1_000;
}

/** The setting behind each field; a field that is missing here does not compile. */
const fields: { readonly [F in keyof RouterSettings]: Field } = {
  handlerTimeoutMs: { key: "router.handler_timeout", times: 1_000 },
  strictNames: { key: "router.validation_strict" },
  dedupWindowSeconds: { key: "router.dedup_window" },
  maxAttempts: { key: "router.max_attempts" },
  retryFirstMs: { key: "router.retry_first", times: 1_000 },
  retryMostMs: { key: "router.retry_most", times: 1_000 },
  breakerThreshold: { key: "router.breaker_threshold" },
  breakerOpenMs: { key: "router.breaker_open", times: 1_000 },
  historySize: { key: "router.history_size" },
  window: { key: "router.window" },
  concurrency: { key: "router.concurrency" },
  trace: { key: "router.trace" },
  retentionSeconds: { key: "router.retention" },
  retentionBytes: { key: "router.retention_bytes" },
  consumerExpirySeconds: { key: "router.consumer_expiry" },
};

const rows = Object.entries(fields) as [keyof RouterSettings, Field][];

export const routerSettingsOf = (values: SettingValues): RouterSettings =>
  Object.fromEntries(
    rows.map(([field, { key, times }]) => {
      const value = values[key];
      // 1.001 * 1000 is a little less than 1001: timers count whole milliseconds.
      return [field, typeof value === "number" && times !== undefined ? Math.round(value * times) : value];
    }),
  ) as unknown as RouterSettings;

/** The other way round, for what a program gives in the router's own words. */
export const settingsOfRouter = (given: Partial<RouterSettings>): Partial<Record<SettingKey, unknown>> =>
  Object.fromEntries(
    rows.map(([field, { key, times }]) => {
      const value = given[field];
      return [key, typeof value === "number" && times !== undefined ? value / times : value];
    }),
  );

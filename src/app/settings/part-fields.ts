import type { DaemonManagerConfig } from "../../daemons/index.ts";
import type { RouterSettings } from "../../router/index.ts";
import { settingFields } from "./fields.ts";

/** The setting behind each field; a field that is missing here does not compile. */
export const routerFields = settingFields<RouterSettings>({
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
});

/** What operators may set of the supervisor. */
export type SupervisorSettings = Pick<
  DaemonManagerConfig,
  | "healthCheckIntervalMs"
  | "criticalDaemonHealthIntervalMs"
  | "startTimeoutMs"
  | "startupGraceMs"
  | "maxRestartAttempts"
  | "restartWindowMs"
  | "recoveryCooldownMs"
  | "mostBackoffMs"
  | "shutdownTimeoutMs"
  | "forceKillTimeoutMs"
>;

export const daemonFields = settingFields<SupervisorSettings>({
  healthCheckIntervalMs: { key: "daemons.health_interval", times: 1_000 },
  criticalDaemonHealthIntervalMs: { key: "daemons.critical_health_interval", times: 1_000 },
  startTimeoutMs: { key: "daemons.start_timeout", times: 1_000 },
  startupGraceMs: { key: "daemons.startup_grace", times: 1_000 },
  maxRestartAttempts: { key: "daemons.max_restarts" },
  restartWindowMs: { key: "daemons.restart_window", times: 1_000 },
  recoveryCooldownMs: { key: "daemons.restart_first", times: 1_000 },
  mostBackoffMs: { key: "daemons.restart_most", times: 1_000 },
  shutdownTimeoutMs: { key: "daemons.shutdown_timeout", times: 1_000 },
  forceKillTimeoutMs: { key: "daemons.force_timeout", times: 1_000 },
});

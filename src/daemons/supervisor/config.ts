import type { Clock, Log } from "../../kernel/index.ts";
import { settingDefaults } from "../../kernel/settings/index.ts";
import { supervisorSettings } from "../settings.ts";
import type { SupervisionStore } from "./supervision-store.ts";

/**
 * How the supervisor behaves, with the defaults of the Python system's `DaemonManagerConfig`. Its seconds are
 * milliseconds here, and every field keeps its name with the unit at the end:
 *
 * | Python                            | here                            |
 * | --------------------------------- | ------------------------------- |
 * | `auto_start`                      | `autoStart`                     |
 * | `enable_coordination_wiring`      | `enableCoordinationWiring`      |
 * | `dependency_wait_timeout`         | `dependencyWaitTimeoutMs`       |
 * | `dependency_poll_interval`        | `dependencyPollIntervalMs`      |
 * | `health_check_interval`           | `healthCheckIntervalMs`         |
 * | `shutdown_timeout`                | `shutdownTimeoutMs`             |
 * | `force_kill_timeout`              | `forceKillTimeoutMs`            |
 * | `auto_restart_failed`             | `autoRestartFailed`             |
 * | `strict_registry_validation`      | `strictRegistryValidation`      |
 * | `max_restart_attempts`            | `maxRestartAttempts`            |
 * | `recovery_cooldown`               | `recoveryCooldownMs`            |
 * | `critical_daemon_health_interval` | `criticalDaemonHealthIntervalMs` |
 */
export const daemonManagerDefaults = {
  ...settingDefaults(supervisorSettings),
  /** Share of a wait that is random, so that what fell together does not rise together. */
  backoffJitter: 0.1,
  /** So many restarts within so long are a crash loop. */
  crashLoopRestarts: 3,
  crashLoopWindowMs: 300_000,
  /** So many restarts of all daemons within so long: those that are not critical wait. */
  cascadeRestarts: 20,
  cascadeWindowMs: 300_000,
  cascadePauseMs: 120_000,
  /** A daemon that has no say of its own in it counts as ready after this. */
  readyAfterMs: 2_000,
  healthCheckTimeoutMs: 5_000,
  /** Health checks in a row that must find a daemon dead before it is restarted. */
  livenessFailures: 3,
};

export type DaemonManagerConfig = Readonly<typeof daemonManagerDefaults>;

/** What a supervisor works with, and whom it speaks for. */
export interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: string;
  readonly pid: number;
  readonly config: DaemonManagerConfig;
  readonly store: SupervisionStore;
}

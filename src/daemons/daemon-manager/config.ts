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
export interface DaemonManagerConfig {
  /** A daemon is started as soon as it is registered and its dependencies are ready. */
  readonly autoStart: boolean;
  /** What the supervisor does is told as events. Its rows are kept either way. */
  readonly enableCoordinationWiring: boolean;
  /** How long `start` with `waitForDeps` waits for dependencies. */
  readonly dependencyWaitTimeoutMs: number;
  /** How often a starting daemon that has an `isReady` is asked; one that says `ready()` is noticed at once. */
  readonly dependencyPollIntervalMs: number;
  readonly healthCheckIntervalMs: number;
  /** Time for an orderly end: of one daemon, and of all together at shutdown. */
  readonly shutdownTimeoutMs: number;
  /** What is left to a daemon that did not end in time, after its `forced` signal; then it is given up. */
  readonly forceKillTimeoutMs: number;
  readonly autoRestartFailed: boolean;
  /** `startAll` throws on a broken graph; otherwise the broken daemons stay down, with a condition that says why. */
  readonly strictRegistryValidation: boolean;
  /** Restarts that a daemon has in the window; one more failure and it is permanently failed. */
  readonly maxRestartAttempts: number;
  /** Least wait before a restart; it doubles with every restart in the window. */
  readonly recoveryCooldownMs: number;
  readonly criticalDaemonHealthIntervalMs: number;
  /** The window in which restarts count. */
  readonly restartWindowMs: number;
  readonly mostBackoffMs: number;
  /** Share of a wait that is random, so that what fell together does not rise together. */
  readonly backoffJitter: number;
  /** So many restarts within so long are a crash loop. */
  readonly crashLoopRestarts: number;
  readonly crashLoopWindowMs: number;
  /** So many restarts of all daemons within so long: those that are not critical wait. */
  readonly cascadeRestarts: number;
  readonly cascadeWindowMs: number;
  readonly cascadePauseMs: number;
  /** A daemon that is not ready by then has failed to start. */
  readonly startTimeoutMs: number;
  /** A daemon that has no say of its own in it counts as ready after this. */
  readonly readyAfterMs: number;
  /** After a start, failed health checks are shown and not acted upon for so long. */
  readonly startupGraceMs: number;
  readonly healthCheckTimeoutMs: number;
  /** Health checks in a row that must find a daemon dead before it is restarted. */
  readonly livenessFailures: number;
}

export const daemonManagerDefaults: DaemonManagerConfig = {
  autoStart: false,
  enableCoordinationWiring: true,
  dependencyWaitTimeoutMs: 30_000,
  dependencyPollIntervalMs: 500,
  healthCheckIntervalMs: 30_000,
  shutdownTimeoutMs: 30_000,
  forceKillTimeoutMs: 5_000,
  autoRestartFailed: true,
  strictRegistryValidation: false,
  maxRestartAttempts: 5,
  recoveryCooldownMs: 10_000,
  criticalDaemonHealthIntervalMs: 15_000,
  restartWindowMs: 3_600_000,
  mostBackoffMs: 300_000,
  backoffJitter: 0.1,
  crashLoopRestarts: 3,
  crashLoopWindowMs: 300_000,
  cascadeRestarts: 20,
  cascadeWindowMs: 300_000,
  cascadePauseMs: 120_000,
  startTimeoutMs: 30_000,
  readyAfterMs: 2_000,
  startupGraceMs: 30_000,
  healthCheckTimeoutMs: 5_000,
  livenessFailures: 3,
};

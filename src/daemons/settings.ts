/** What operators may set of the supervisor, of the watchdog of the main loop, and of maintenance. */
import { seconds, whole, yesNo } from "../kernel/settings/index.ts";

/** What a process is for: it decides which units run in it. `training_node` is what a node runs that has joined. */
export const PROFILES = ["coordinator", "training_node"] as const;

const YEAR_SECONDS = 365 * 86_400;

export const supervisorSettings = {
  autoStart: yesNo({
    key: "daemons.auto_start",
    variable: "RINGRIFT_DAEMON_AUTO_START",
    default: false,
    about: "A daemon starts by itself as soon as it is registered and its dependencies are ready.",
  }),
  enableCoordinationWiring: yesNo({
    key: "daemons.events",
    variable: "RINGRIFT_DAEMON_EVENTS",
    default: true,
    about: "Publish starts, ends and failures of daemons as events. They are recorded in any case.",
  }),
  dependencyWaitTimeoutMs: seconds({
    key: "daemons.dependency_timeout",
    variable: "RINGRIFT_DAEMON_DEPENDENCY_TIMEOUT",
    min: 0,
    max: 3_600,
    default: 30,
    about: "How long a starting daemon waits for its dependencies.",
  }),
  dependencyPollIntervalMs: seconds({
    key: "daemons.dependency_poll",
    variable: "RINGRIFT_DAEMON_DEPENDENCY_POLL",
    min: 0.01,
    max: 3_600,
    default: 0.5,
    about:
      "Pause between two checks whether a starting daemon is ready. A daemon that reports it itself needs no check.",
  }),
  autoRestartFailed: yesNo({
    key: "daemons.auto_restart",
    variable: "RINGRIFT_DAEMON_AUTO_RESTART",
    default: true,
    about: "Restart a failed daemon. Otherwise it stays stopped until you reset it.",
  }),
  strictRegistryValidation: yesNo({
    key: "daemons.strict_registry",
    variable: "RINGRIFT_DAEMON_STRICT_REGISTRY",
    default: false,
    about:
      "Start nothing while dependencies are missing or circular. Otherwise only the affected daemons stay stopped.",
  }),
  healthCheckIntervalMs: seconds({
    key: "daemons.health_interval",
    variable: "RINGRIFT_DAEMON_HEALTH_INTERVAL",
    min: 0.1,
    max: 3_600,
    default: 30,
    about: "Pause between two health checks of a daemon.",
  }),
  criticalDaemonHealthIntervalMs: seconds({
    key: "daemons.critical_health_interval",
    variable: "RINGRIFT_DAEMON_CRITICAL_HEALTH_INTERVAL",
    min: 0.1,
    max: 3_600,
    default: 15,
    about: "Pause between two health checks of a critical daemon.",
  }),
  startTimeoutMs: seconds({
    key: "daemons.start_timeout",
    variable: "RINGRIFT_DAEMON_START_TIMEOUT",
    min: 0.1,
    max: 3_600,
    default: 30,
    about: "Time that a daemon has to become ready. After that, its start has failed.",
  }),
  startupGraceMs: seconds({
    key: "daemons.startup_grace",
    variable: "RINGRIFT_DAEMON_STARTUP_GRACE",
    min: 0,
    max: 3_600,
    default: 30,
    about: "Time after a start in which failed health checks are shown but cause no restart.",
  }),
  maxRestartAttempts: whole({
    key: "daemons.max_restarts",
    variable: "RINGRIFT_DAEMON_MAX_RESTARTS",
    min: 0,
    max: 1_000,
    unit: "restarts",
    default: 5,
    about:
      "Restarts that a daemon may use within the window. After one more failure it stays stopped until you reset it.",
  }),
  restartWindowMs: seconds({
    key: "daemons.restart_window",
    variable: "RINGRIFT_DAEMON_RESTART_WINDOW",
    min: 1,
    max: 7 * 86_400,
    default: 3_600,
    about: "Length of the window in which restarts are counted.",
  }),
  recoveryCooldownMs: seconds({
    key: "daemons.restart_first",
    variable: "RINGRIFT_DAEMON_RESTART_FIRST",
    min: 0.01,
    max: 3_600,
    default: 10,
    about: "Wait before the first restart; it doubles with every restart in the window.",
  }),
  maxBackoffMs: seconds({
    key: "daemons.restart_most",
    variable: "RINGRIFT_DAEMON_RESTART_MOST",
    min: 0.01,
    max: 86_400,
    default: 300,
    about: "Longest wait before a restart.",
  }),
  shutdownTimeoutMs: seconds({
    key: "daemons.shutdown_timeout",
    variable: "RINGRIFT_DAEMON_SHUTDOWN_TIMEOUT",
    min: 0,
    max: 3_600,
    default: 30,
    about: "Time for all daemons to stop in order. After that, they are stopped by force.",
  }),
  forceKillTimeoutMs: seconds({
    key: "daemons.force_timeout",
    variable: "RINGRIFT_DAEMON_FORCE_TIMEOUT",
    min: 0,
    max: 3_600,
    default: 5,
    about: "Time that a daemon has to stop when forced. After that, the process ends without it.",
  }),
};

export const loopWatchdogSettings = {
  blockedAfterMs: seconds({
    key: "watchdog.blocked_after",
    variable: "RINGRIFT_WATCHDOG_BLOCKED_AFTER",
    min: 0.05,
    max: 3_600,
    default: 1,
    about: "How long the main loop may be blocked before the watchdog raises an alarm.",
  }),
};

export const maintenanceSettings = {
  integrityEveryMs: seconds({
    key: "maintenance.integrity_check_every",
    variable: "RINGRIFT_MAINTENANCE_INTEGRITY_CHECK_EVERY",
    min: 60,
    max: YEAR_SECONDS,
    default: 86_400,
    about: "Time between two checks of the whole database.",
  }),
};

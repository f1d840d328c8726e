/**
 * What each event means for health, as a table. Texts in braces are fields of the payload; a component may be a fixed name, a
 * field, or both.
 */
import type { EventName } from "../../events/index.ts";

export type ErrorSeverity = "warning" | "error" | "critical";

export type Meaning =
  /** Something failed. Held: it stays failed until a good report. */
  | {
      readonly kind: "failure";
      readonly component: string;
      readonly severity: ErrorSeverity | "own";
      readonly text: string;
      readonly held?: true;
      /** Counts only if this field is so. */
      readonly when?: { readonly field: string; readonly among: readonly unknown[] };
      /** Otherwise it is a good report. */
      readonly orWell?: true;
    }
  | { readonly kind: "well"; readonly component: string }
  /** It ended in order: its silence is no loss. */
  | { readonly kind: "gone"; readonly component: string }
  | { readonly kind: "recovery"; readonly step: "begun" | "worked" | "failed"; readonly text: string }
  /** A unit's own word, every half minute. */
  | { readonly kind: "beat" };

const failure = (component: string, severity: ErrorSeverity | "own", text: string) =>
  ({ kind: "failure", component, severity, text }) as const;
const held = (component: string, severity: ErrorSeverity, text: string) =>
  ({ kind: "failure", component, severity, text, held: true }) as const;
const well = (component: string) => ({ kind: "well", component }) as const;

export const healthMeanings = {
  ERROR: failure("{component}", "own", "{error}"),
  TRAINING_FAILED: failure("training {config_key}", "error", "{error}"),
  TASK_FAILED: failure("tasks {work_type}", "error", "{node_id}: {error}"),
  REGRESSION_DETECTED: failure("strength {config_key}", "warning", "lost {elo_drop} Elo"),
  REGRESSION_CRITICAL: failure("strength {config_key}", "error", "lost {elo_drop} Elo"),
  PARITY_FAILURE_RATE_CHANGED: failure("parity {config_key}", "warning", "{failure_rate} of games fail"),
  SYNC_FAILURE_CRITICAL: {
    ...failure("sync {node_id}", "critical", "{error}"),
    when: { field: "severity", among: [undefined, "critical"] },
    orWell: true,
  },
  LOCK_TIMEOUT: failure("lock {lock_name}", "warning", "{requested_by} waited {timeout_seconds} s"),
  DEADLOCK_DETECTED: failure("lock {lock_name}", "error", "holders wait for each other"),
  CLUSTER_STALL_DETECTED: failure("cluster", "critical", "no progress for {stalled_seconds} s"),
  SPLIT_BRAIN_DETECTED: held("leadership {cluster_id}", "critical", "several nodes claim to lead"),
  SPLIT_BRAIN_RESOLVED: well("leadership {cluster_id}"),
  CAPACITY_LOW: held("capacity {scope}", "warning", "{gpus} of {required_gpus} accelerators"),
  CAPACITY_RESTORED: well("capacity {scope}"),
  BUDGET_ALERT: failure("budget {scope}", "warning", "{spent_usd} of {limit_usd} US dollars"),
  BUDGET_EXCEEDED: failure("budget {scope}", "error", "{spent_usd} of {limit_usd} US dollars"),
  DAEMON_STARTED: well("{daemon_name}"),
  DAEMON_STOPPED: { kind: "gone", component: "{daemon_name}" },
  DAEMON_STATUS_CHANGED: {
    ...failure("{daemon_name}", "warning", "{daemon_state}: {reason}"),
    // Holds, resets and recoveries are told by it as well.
    when: { field: "daemon_state", among: ["failed", "degraded"] },
  },
  DAEMON_CRASH_LOOP_DETECTED: failure("{daemon_name}", "error", "{restarts} restarts"),
  DAEMON_PERMANENTLY_FAILED: held("{daemon_name}", "critical", "{reason}"),
  COORDINATOR_HEARTBEAT: { kind: "beat" },
  COORDINATOR_HEALTHY: well("{coordinator_name}"),
  COORDINATOR_HEALTH_DEGRADED: failure("{coordinator_name}", "warning", "{reason}"),
  COORDINATOR_UNHEALTHY: held("{coordinator_name}", "error", "{reason}"),
  COORDINATOR_INIT_FAILED: held("{coordinator_name}", "critical", "{error}"),
  COORDINATOR_SHUTDOWN: { kind: "gone", component: "{coordinator_name}" },
  DLQ_STALE_EVENTS: failure("{consumer}", "warning", "{dead_letters} dead letters wait"),
  DLQ_EVENTS_REPLAYED: well("{consumer}"),
  DLQ_EVENTS_PURGED: failure("{consumer}", "warning", "{dead_letters} dead letters were given up"),
  STARTUP_STATE_VALIDATED: {
    kind: "failure",
    component: "stored state of {node_id}",
    severity: "critical",
    text: "{problems}",
    held: true,
    when: { field: "passed", among: [false] },
    orWell: true,
  },
  // Who is there and how each does is counted where it is true; here is written down what was told of it.
  HOST_ONLINE: well("node {node_id}"),
  HOST_OFFLINE: failure("node {node_id}", "warning", "{reason}"),
  NODE_UNHEALTHY: failure("node {node_id}", "warning", "{node_state}: {reason}"),
  NODE_RECOVERED: well("node {node_id}"),
  HEALTH_CHECK_PASSED: well("checks {node_id}"),
  HEALTH_CHECK_FAILED: failure("checks {node_id}", "warning", "{check_type}: {reason}"),
  RECOVERY_INITIATED: { kind: "recovery", step: "begun", text: "{recovery_action}" },
  RECOVERY_COMPLETED: { kind: "recovery", step: "worked", text: "{recovery_action}" },
  RECOVERY_FAILED: { kind: "recovery", step: "failed", text: "{recovery_action}: {error}" },
} as const satisfies Partial<Record<EventName, Meaning>>;

export type HealthEvent = keyof typeof healthMeanings;

export const healthEvents = Object.keys(healthMeanings) as HealthEvent[];

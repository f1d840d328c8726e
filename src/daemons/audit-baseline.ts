import { builtinRows, type Rows } from "../events/index.ts";
import { type Finding, finding } from "./finding.ts";
import type { Registry } from "./registry.ts";
import { tiesOf } from "./wiring.ts";

/**
 * What the wiring is known to hold. An event with ten consumers is still heard when one of them is lost, so the graph alone
 * does not notice; what was written down does. It follows the code: a test fails when the two differ.
 */
export interface AuditBaseline {
  /** Built-in rows without emitter and consumer. This may only become less. */
  readonly openRows: number;
  /** By unit or part. */
  readonly ties: Readonly<Record<string, { readonly emits: readonly string[]; readonly hears: readonly string[] }>>;
}

/** The baseline that a registry would have. */
export function baselineOf(registry: Registry<Rows>): AuditBaseline {
  const open = tiesOf(registry).filter(
    ({ event, emitters, consumers }) =>
      Object.hasOwn(builtinRows, event) && emitters.length === 0 && consumers.length === 0,
  );
  const ties: Record<string, { emits: string[]; hears: string[] }> = {};
  for (const { name, emits } of registry.parts) ties[name] = { emits: [...emits].sort(), hears: [] };
  for (const { name, emits, hears } of registry.units)
    ties[name] = { emits: [...emits].sort(), hears: [...hears].sort() };
  return { openRows: open.length, ties };
}

/** Ties that were written down and are gone, and open rows that became more. */
export function againstBaseline(registry: Registry<Rows>, open: readonly string[], baseline: AuditBaseline): Finding[] {
  const live = new Map<string, { emits: readonly string[]; hears: readonly string[] }>();
  for (const { name, emits } of registry.parts) live.set(name, { emits, hears: [] });
  for (const { name, emits, hears } of registry.units) live.set(name, { emits, hears });
  const lost = Object.entries(baseline.ties).flatMap(([name, ties]) =>
    (["emits", "hears"] as const).flatMap((verb) =>
      ties[verb]
        .filter((event) => !live.get(name)?.[verb].includes(event))
        .map((event) =>
          finding(
            "lost_tie",
            "high",
            { event, units: [name] },
            `'${name}' no longer ${verb} it.`,
            "Restore it, or take it out of the baseline in the same change.",
          ),
        ),
    ),
  );
  const grown = open.length > baseline.openRows;
  const more = finding(
    "open_rows_grew",
    "high",
    {},
    `${open.length} rows have neither emitter nor consumer; at most ${baseline.openRows} may.`,
    "Wire the new rows, or restore the ties that were cut.",
  );
  return grown ? [...lost, more] : lost;
}

/** The wiring of the units and parts that exist. */
export const auditBaseline: AuditBaseline = {
  "openRows": 61,
  "ties": {
    "router": {
      "emits": [
        "HANDLER_FAILED",
        "HANDLER_TIMEOUT"
      ],
      "hears": []
    },
    "unit_runtime": {
      "emits": [
        "COORDINATOR_HEARTBEAT",
        "ERROR"
      ],
      "hears": []
    },
    "daemon_manager": {
      "emits": [
        "DAEMON_CRASH_LOOP_DETECTED",
        "DAEMON_PERMANENTLY_FAILED",
        "DAEMON_STARTED",
        "DAEMON_STATUS_CHANGED",
        "DAEMON_STOPPED",
        "ERROR"
      ],
      "hears": []
    },
    "bootstrap": {
      "emits": [
        "COORDINATOR_HEALTHY",
        "COORDINATOR_INIT_FAILED",
        "COORDINATOR_SHUTDOWN",
        "STARTUP_STATE_VALIDATED"
      ],
      "hears": []
    },
    "work_store": {
      "emits": [
        "JOB_PREEMPTED",
        "TASK_ABANDONED",
        "TASK_CANCELLED",
        "TASK_COMPLETED",
        "TASK_FAILED",
        "TASK_HEARTBEAT",
        "TASK_ORPHANED",
        "TASK_SPAWNED",
        "WORK_CANCELLED",
        "WORK_CLAIMED",
        "WORK_COMPLETED",
        "WORK_FAILED",
        "WORK_QUEUED",
        "WORK_RETRY",
        "WORK_STARTED",
        "WORK_TIMEOUT"
      ],
      "hears": []
    },
    "artifact_store": {
      "emits": [
        "DATABASE_CREATED",
        "DATA_SYNC_COMPLETED",
        "DATA_SYNC_FAILED",
        "DATA_SYNC_STARTED",
        "MODEL_CORRUPTED",
        "MODEL_DISTRIBUTION_COMPLETE",
        "MODEL_DISTRIBUTION_FAILED",
        "MODEL_DISTRIBUTION_STARTED"
      ],
      "hears": []
    },
    "model_commands": {
      "emits": [
        "PROMOTION_ROLLED_BACK",
        "TRAINING_ROLLBACK_COMPLETED"
      ],
      "hears": []
    },
    "event_router": {
      "emits": [
        "ERROR"
      ],
      "hears": []
    },
    "daemon_control": {
      "emits": [],
      "hears": [
        "BACKPRESSURE_ACTIVATED",
        "BACKPRESSURE_RELEASED",
        "CLUSTER_STATUS_CHANGED",
        "DAEMON_STARTED",
        "DAEMON_STATUS_CHANGED",
        "DAEMON_STOPPED",
        "DISK_SPACE_LOW",
        "LEADER_ELECTED",
        "LEADER_LOST",
        "LEADER_STEPDOWN",
        "P2P_CLUSTER_HEALTHY",
        "P2P_CLUSTER_UNHEALTHY",
        "REGRESSION_CRITICAL",
        "RESOURCE_CONSTRAINT",
        "TRAINING_BLOCKED_BY_QUALITY"
      ]
    },
    "daemon_watchdog": {
      "emits": [
        "COORDINATOR_HEALTHY",
        "COORDINATOR_HEALTH_DEGRADED",
        "COORDINATOR_UNHEALTHY",
        "DAEMON_STATUS_CHANGED",
        "ERROR"
      ],
      "hears": [
        "COORDINATOR_HEARTBEAT"
      ]
    },
    "dlq_retry": {
      "emits": [
        "DLQ_EVENTS_PURGED",
        "DLQ_EVENTS_REPLAYED",
        "DLQ_STALE_EVENTS"
      ],
      "hears": [
        "HANDLER_FAILED",
        "HANDLER_TIMEOUT"
      ]
    },
    "maintenance": {
      "emits": [
        "ERROR"
      ],
      "hears": []
    },
    "resource_monitor": {
      "emits": [
        "DISK_SPACE_LOW",
        "MEMORY_PRESSURE",
        "METRICS_UPDATED",
        "NODE_CAPACITY_UPDATED",
        "NODE_OVERLOADED",
        "RESOURCE_CONSTRAINT",
        "RESOURCE_CONSTRAINT_DETECTED"
      ],
      "hears": []
    },
    "membership": {
      "emits": [
        "ERROR",
        "HOST_OFFLINE",
        "HOST_ONLINE",
        "NODE_RETIRED",
        "NODE_SUSPECT",
        "P2P_NODES_DEAD",
        "P2P_NODE_DEAD"
      ],
      "hears": []
    },
    "resource_coordinator": {
      "emits": [
        "CAPACITY_LOW",
        "CAPACITY_RESTORED",
        "CLUSTER_CAPACITY_CHANGED"
      ],
      "hears": [
        "HOST_OFFLINE",
        "HOST_ONLINE",
        "NODE_CAPACITY_UPDATED",
        "NODE_RETIRED"
      ]
    },
    "health_manager": {
      "emits": [
        "HEALTH_ALERT"
      ],
      "hears": [
        "BUDGET_ALERT",
        "BUDGET_EXCEEDED",
        "CAPACITY_LOW",
        "CAPACITY_RESTORED",
        "CLUSTER_STALL_DETECTED",
        "COORDINATOR_HEALTHY",
        "COORDINATOR_HEALTH_DEGRADED",
        "COORDINATOR_HEARTBEAT",
        "COORDINATOR_INIT_FAILED",
        "COORDINATOR_SHUTDOWN",
        "COORDINATOR_UNHEALTHY",
        "DAEMON_CRASH_LOOP_DETECTED",
        "DAEMON_PERMANENTLY_FAILED",
        "DAEMON_STARTED",
        "DAEMON_STATUS_CHANGED",
        "DAEMON_STOPPED",
        "DEADLOCK_DETECTED",
        "DLQ_EVENTS_PURGED",
        "DLQ_EVENTS_REPLAYED",
        "DLQ_STALE_EVENTS",
        "ERROR",
        "HEALTH_CHECK_FAILED",
        "HEALTH_CHECK_PASSED",
        "HOST_OFFLINE",
        "HOST_ONLINE",
        "LOCK_TIMEOUT",
        "NODE_RECOVERED",
        "NODE_UNHEALTHY",
        "PARITY_FAILURE_RATE_CHANGED",
        "RECOVERY_COMPLETED",
        "RECOVERY_FAILED",
        "RECOVERY_INITIATED",
        "REGRESSION_CRITICAL",
        "REGRESSION_DETECTED",
        "SPLIT_BRAIN_DETECTED",
        "SPLIT_BRAIN_RESOLVED",
        "STARTUP_STATE_VALIDATED",
        "SYNC_FAILURE_CRITICAL",
        "TASK_FAILED",
        "TRAINING_FAILED"
      ]
    },
    "error_coordinator": {
      "emits": [],
      "hears": []
    },
    "recovery_manager": {
      "emits": [],
      "hears": []
    },
    "alert_manager": {
      "emits": [],
      "hears": [
        "BUDGET_ALERT",
        "BUDGET_EXCEEDED",
        "CLUSTER_STALL_DETECTED",
        "COORDINATOR_HEALTHY",
        "COORDINATOR_HEALTH_DEGRADED",
        "COORDINATOR_HEARTBEAT",
        "COORDINATOR_INIT_FAILED",
        "COORDINATOR_SHUTDOWN",
        "COORDINATOR_UNHEALTHY",
        "DAEMON_CRASH_LOOP_DETECTED",
        "DAEMON_PERMANENTLY_FAILED",
        "DAEMON_STARTED",
        "DAEMON_STOPPED",
        "DATA_QUALITY_ALERT",
        "DEADLOCK_DETECTED",
        "DISK_SPACE_LOW",
        "DISTRIBUTION_INCOMPLETE",
        "DLQ_EVENTS_PURGED",
        "DLQ_EVENTS_REPLAYED",
        "DLQ_STALE_EVENTS",
        "ERROR",
        "EVALUATION_COMPLETED",
        "EVALUATION_FAILED",
        "HANDLER_FAILED",
        "HANDLER_TIMEOUT",
        "HEALTH_ALERT",
        "HIGH_QUALITY_DATA_AVAILABLE",
        "HOST_ONLINE",
        "LEADER_ELECTED",
        "LEADER_LOST",
        "LOCK_TIMEOUT",
        "LOW_QUALITY_DATA_WARNING",
        "MODEL_CORRUPTED",
        "MODEL_DISTRIBUTION_COMPLETE",
        "MODEL_DISTRIBUTION_FAILED",
        "MODEL_PROMOTED",
        "NETWORK_ISOLATION_DETECTED",
        "NODE_PROVISION_FAILED",
        "NODE_RECOVERED",
        "NODE_RETIRED",
        "NODE_SUSPECT",
        "NPZ_COMBINATION_COMPLETE",
        "NPZ_COMBINATION_FAILED",
        "P2P_CLUSTER_HEALTHY",
        "P2P_CLUSTER_UNHEALTHY",
        "P2P_HEALTH_RECOVERED",
        "P2P_NODES_DEAD",
        "PRIORITY_SYNC_FAILED",
        "PROGRESS_RECOVERED",
        "PROGRESS_STALL_DETECTED",
        "PROMOTION_FAILED",
        "RECOVERY_COMPLETED",
        "RECOVERY_FAILED",
        "REGRESSION_CLEARED",
        "REGRESSION_CRITICAL",
        "REGRESSION_DETECTED",
        "REGRESSION_SEVERE",
        "REPAIR_COMPLETED",
        "REPAIR_FAILED",
        "REPLICATION_ALERT",
        "RESOURCE_CONSTRAINT",
        "SPLIT_BRAIN_DETECTED",
        "SPLIT_BRAIN_RESOLVED",
        "SYNC_CHECKSUM_FAILED",
        "SYNC_FAILURE_CRITICAL",
        "SYNC_STALLED",
        "TASK_FAILED",
        "TRAINING_COMPLETED",
        "TRAINING_FAILED",
        "TRAINING_LOSS_ANOMALY"
      ]
    },
    "task_coordinator": {
      "emits": [],
      "hears": [
        "HOST_OFFLINE",
        "HOST_ONLINE",
        "NODE_RECOVERED",
        "TASK_ABANDONED",
        "TASK_CANCELLED",
        "TASK_COMPLETED",
        "TASK_FAILED",
        "TASK_HEARTBEAT",
        "TASK_ORPHANED",
        "TASK_SPAWNED"
      ]
    },
    "global_task_coordinator": {
      "emits": [],
      "hears": [
        "HOST_ONLINE",
        "MEMORY_PRESSURE",
        "RESOURCE_CONSTRAINT",
        "RESOURCE_CONSTRAINT_DETECTED"
      ]
    },
    "work_queue_monitor": {
      "emits": [
        "BACKPRESSURE_ACTIVATED",
        "BACKPRESSURE_RELEASED"
      ],
      "hears": [
        "DISK_SPACE_LOW",
        "RESOURCE_CONSTRAINT"
      ]
    },
    "job_reaper": {
      "emits": [],
      "hears": [
        "P2P_NODE_DEAD"
      ]
    },
    "job_scheduler": {
      "emits": [
        "BATCH_DISPATCHED",
        "WORK_QUEUED"
      ],
      "hears": [
        "BATCH_SCHEDULED",
        "HOST_OFFLINE",
        "HOST_ONLINE",
        "NODE_INCOMPATIBLE_WITH_WORKLOAD",
        "NODE_OVERLOADED",
        "NODE_RECOVERED",
        "WORK_TIMEOUT"
      ]
    },
    "model_coordinator": {
      "emits": [],
      "hears": [
        "CHECKPOINT_SAVED",
        "ELO_UPDATED",
        "MODEL_CORRUPTED",
        "MODEL_PROMOTED",
        "PROMOTION_FAILED",
        "PROMOTION_ROLLED_BACK",
        "REGRESSION_CLEARED",
        "REGRESSION_DETECTED",
        "REGRESSION_MINOR",
        "REGRESSION_MODERATE",
        "REPAIR_COMPLETED",
        "TRAINING_COMPLETED",
        "TRAINING_STARTED"
      ]
    },
    "training_coordinator": {
      "emits": [
        "CHECKPOINT_SAVED",
        "TRAINING_COMPLETED",
        "TRAINING_EARLY_STOPPED",
        "TRAINING_FAILED",
        "TRAINING_LOCK_ACQUIRED",
        "TRAINING_LOSS_ANOMALY",
        "TRAINING_LOSS_TREND",
        "TRAINING_PROGRESS",
        "TRAINING_SLOT_UNAVAILABLE",
        "TRAINING_STARTED",
        "WORK_QUEUED"
      ],
      "hears": [
        "MODEL_PROMOTED",
        "PIPELINE_STAGE_ENTERED",
        "PROMOTION_ROLLED_BACK",
        "TRAINING_BLOCKED_BY_QUALITY",
        "TRAINING_ROLLBACK_COMPLETED",
        "TRAINING_ROLLBACK_NEEDED",
        "TRAINING_THRESHOLD_REACHED",
        "WORK_CANCELLED",
        "WORK_COMPLETED",
        "WORK_FAILED",
        "WORK_STARTED"
      ]
    },
    "training_trigger": {
      "emits": [
        "QUALITY_CHECK_REQUESTED",
        "TRAINING_BLOCKED_BY_QUALITY",
        "TRAINING_THRESHOLD_REACHED"
      ],
      "hears": [
        "EVALUATION_BACKPRESSURE",
        "EVALUATION_BACKPRESSURE_RELEASED",
        "EVALUATION_COMPLETED",
        "HIGH_QUALITY_DATA_AVAILABLE",
        "NPZ_COMBINATION_COMPLETE",
        "NPZ_EXPORT_COMPLETE",
        "PIPELINE_STAGE_ENTERED",
        "QUALITY_CHECK_FAILED",
        "QUALITY_SCORE_UPDATED",
        "TRAINING_COMPLETED",
        "TRAINING_FAILED",
        "TRAINING_SLOT_UNAVAILABLE"
      ]
    },
    "evaluation_daemon": {
      "emits": [
        "EVALUATION_BACKPRESSURE",
        "EVALUATION_BACKPRESSURE_RELEASED",
        "EVALUATION_COMPLETED",
        "EVALUATION_FAILED",
        "EVALUATION_PROGRESS",
        "EVALUATION_STARTED",
        "MODEL_EVALUATION_BLOCKED",
        "PROMOTION_CANDIDATE",
        "WORK_QUEUED"
      ],
      "hears": [
        "MODEL_DISTRIBUTION_COMPLETE",
        "MODEL_PROMOTED",
        "PIPELINE_STAGE_ENTERED",
        "TRAINING_COMPLETED",
        "WORK_CANCELLED",
        "WORK_COMPLETED",
        "WORK_FAILED"
      ]
    },
    "elo_service": {
      "emits": [
        "ELO_SIGNIFICANT_CHANGE",
        "ELO_UPDATED",
        "WORK_QUEUED"
      ],
      "hears": [
        "EVALUATION_COMPLETED",
        "MODEL_PROMOTED",
        "WORK_CANCELLED",
        "WORK_COMPLETED",
        "WORK_FAILED"
      ]
    },
    "model_performance_watchdog": {
      "emits": [
        "REGRESSION_CLEARED",
        "REGRESSION_CRITICAL",
        "REGRESSION_DETECTED",
        "REGRESSION_MINOR",
        "REGRESSION_MODERATE",
        "REGRESSION_SEVERE",
        "TRAINING_ROLLBACK_NEEDED",
        "WORK_QUEUED"
      ],
      "hears": [
        "EVALUATION_COMPLETED",
        "MODEL_CORRUPTED",
        "MODEL_PROMOTED",
        "PROMOTION_ROLLED_BACK",
        "WORK_CANCELLED",
        "WORK_COMPLETED",
        "WORK_FAILED"
      ]
    },
    "auto_promotion": {
      "emits": [
        "MODEL_PROMOTED",
        "PROMOTION_FAILED",
        "PROMOTION_REJECTED",
        "PROMOTION_STARTED"
      ],
      "hears": [
        "ELO_UPDATED",
        "EVALUATION_COMPLETED",
        "PIPELINE_STAGE_ENTERED",
        "PROMOTION_CANDIDATE",
        "PROMOTION_ROLLED_BACK"
      ]
    },
    "model_rollback": {
      "emits": [
        "PROMOTION_ROLLED_BACK",
        "TRAINING_ROLLBACK_COMPLETED"
      ],
      "hears": [
        "REGRESSION_CRITICAL",
        "REGRESSION_SEVERE",
        "TRAINING_ROLLBACK_NEEDED"
      ]
    },
    "queue_populator": {
      "emits": [
        "ELO_VELOCITY_CHANGED",
        "SELFPLAY_TARGET_UPDATED",
        "WORK_QUEUED"
      ],
      "hears": [
        "BACKPRESSURE_ACTIVATED",
        "BACKPRESSURE_RELEASED",
        "ELO_SIGNIFICANT_CHANGE",
        "ELO_UPDATED",
        "PIPELINE_STAGE_ENTERED",
        "SELFPLAY_ALLOCATION_UPDATED",
        "SELFPLAY_COMPLETE",
        "WORK_FAILED"
      ]
    },
    "parity_validator": {
      "emits": [
        "DATA_QUALITY_ALERT",
        "PARITY_FAILURE_RATE_CHANGED",
        "PARITY_VALIDATION_COMPLETED",
        "PARITY_VALIDATION_STARTED",
        "WORK_QUEUED"
      ],
      "hears": [
        "DATABASE_CREATED",
        "PIPELINE_STAGE_ENTERED",
        "WORK_CANCELLED",
        "WORK_COMPLETED",
        "WORK_FAILED"
      ]
    },
    "selfplay_orchestrator": {
      "emits": [
        "SELFPLAY_COMPLETE"
      ],
      "hears": [
        "BATCH_DISPATCHED",
        "PIPELINE_STAGE_ENTERED",
        "WORK_CANCELLED",
        "WORK_COMPLETED",
        "WORK_FAILED"
      ]
    },
    "selfplay_scheduler": {
      "emits": [
        "BATCH_SCHEDULED",
        "SELFPLAY_ALLOCATION_UPDATED"
      ],
      "hears": [
        "BACKPRESSURE_ACTIVATED",
        "BACKPRESSURE_RELEASED",
        "ELO_UPDATED",
        "ELO_VELOCITY_CHANGED",
        "LOW_QUALITY_DATA_WARNING",
        "MODEL_PROMOTED",
        "NEW_GAMES_AVAILABLE",
        "PIPELINE_STAGE_ENTERED",
        "QUALITY_DEGRADED",
        "QUALITY_FEEDBACK_ADJUSTED",
        "QUALITY_PENALTY_APPLIED",
        "SELFPLAY_TARGET_UPDATED"
      ]
    },
    "pipeline_orchestrator": {
      "emits": [
        "EXPORT_TRIGGERED",
        "NEW_GAMES_AVAILABLE",
        "PIPELINE_STAGE_ENTERED"
      ],
      "hears": [
        "DATA_SYNC_COMPLETED",
        "DATA_SYNC_FAILED",
        "DATA_SYNC_STARTED",
        "EVALUATION_COMPLETED",
        "EVALUATION_FAILED",
        "MODEL_EVALUATION_BLOCKED",
        "MODEL_PROMOTED",
        "NPZ_COMBINATION_COMPLETE",
        "NPZ_COMBINATION_FAILED",
        "NPZ_EXPORT_COMPLETE",
        "PARITY_VALIDATION_COMPLETED",
        "PROMOTION_CANDIDATE",
        "PROMOTION_FAILED",
        "PROMOTION_REJECTED",
        "QUALITY_SCORE_UPDATED",
        "SELFPLAY_COMPLETE",
        "TRAINING_COMPLETED",
        "TRAINING_FAILED"
      ]
    },
    "quality_monitor_daemon": {
      "emits": [
        "HIGH_QUALITY_DATA_AVAILABLE",
        "LOW_QUALITY_DATA_WARNING",
        "QUALITY_CHECK_FAILED",
        "QUALITY_DEGRADED",
        "QUALITY_DISTRIBUTION_CHANGED",
        "QUALITY_FEEDBACK_ADJUSTED",
        "QUALITY_PENALTY_APPLIED",
        "QUALITY_SCORE_UPDATED"
      ],
      "hears": [
        "DATA_QUALITY_ALERT",
        "DATA_SYNC_COMPLETED",
        "DATA_SYNC_FAILED",
        "PARITY_FAILURE_RATE_CHANGED",
        "PARITY_VALIDATION_COMPLETED",
        "PIPELINE_STAGE_ENTERED",
        "QUALITY_CHECK_REQUESTED"
      ]
    },
    "auto_export_daemon": {
      "emits": [
        "NPZ_COMBINATION_COMPLETE",
        "NPZ_COMBINATION_FAILED",
        "NPZ_COMBINATION_STARTED",
        "NPZ_EXPORT_COMPLETE",
        "NPZ_EXPORT_STARTED",
        "REPAIR_COMPLETED",
        "REPAIR_FAILED",
        "WORK_QUEUED"
      ],
      "hears": [
        "DATA_SYNC_FAILED",
        "EXPORT_TRIGGERED",
        "MODEL_CORRUPTED",
        "NEW_GAMES_AVAILABLE",
        "PIPELINE_STAGE_ENTERED",
        "WORK_CANCELLED",
        "WORK_COMPLETED",
        "WORK_FAILED"
      ]
    },
    "progress_watchdog": {
      "emits": [
        "DATA_QUALITY_ALERT",
        "PROGRESS_RECOVERED",
        "PROGRESS_STALL_DETECTED"
      ],
      "hears": [
        "ELO_UPDATED",
        "EVALUATION_PROGRESS",
        "EVALUATION_STARTED",
        "MODEL_DISTRIBUTION_STARTED",
        "NPZ_COMBINATION_STARTED",
        "NPZ_EXPORT_STARTED",
        "PARITY_VALIDATION_STARTED",
        "PROMOTION_STARTED",
        "TRAINING_LOCK_ACQUIRED",
        "TRAINING_PROGRESS",
        "TRAINING_STARTED"
      ]
    },
    "http_server": {
      "emits": [],
      "hears": [
        "METRICS_UPDATED"
      ]
    }
  }
};

import { didYouMean, OperatingError } from "../kernel/index.ts";

interface DaemonTypeRow {
  /** The unit that answers for it. */
  readonly unit: string;
  /** The part of the system that brings the unit. */
  readonly stage: string;
  /** For deprecated names: what to write instead. */
  readonly replacedBy?: string;
}

/** Every daemon type of the Python system, and the unit that does its work here. Several types may be one unit. */
export const daemonTypes = {
  SYNC_COORDINATOR: { unit: "auto_sync", stage: "sync", replacedBy: "AUTO_SYNC" },
  HIGH_QUALITY_SYNC: { unit: "auto_sync", stage: "sync" },
  ELO_SYNC: { unit: "elo_service", stage: "loop" },
  MODEL_SYNC: { unit: "model_distribution_daemon", stage: "sync" },
  HEALTH_CHECK: { unit: "node_health", stage: "fleet", replacedBy: "AVAILABILITY_NODE_MONITOR" },
  CLUSTER_MONITOR: { unit: "cluster_monitor", stage: "ha" },
  QUEUE_MONITOR: { unit: "work_queue_monitor", stage: "work" },
  NODE_HEALTH_MONITOR: { unit: "node_health", stage: "fleet", replacedBy: "AVAILABILITY_NODE_MONITOR" },
  EVENT_ROUTER: { unit: "event_router", stage: "events" },
  CROSS_PROCESS_POLLER: { unit: "event_router", stage: "events" },
  DLQ_RETRY: { unit: "dlq_retry", stage: "events" },
  DAEMON_WATCHDOG: { unit: "daemon_watchdog", stage: "daemons" },
  DATA_PIPELINE: { unit: "pipeline_orchestrator", stage: "loop" },
  SELFPLAY_COORDINATOR: { unit: "selfplay_scheduler", stage: "loop" },
  P2P_BACKEND: { unit: "membership", stage: "work" },
  GOSSIP_SYNC: { unit: "auto_sync", stage: "sync" },
  DATA_SERVER: { unit: "http_server", stage: "daemons" },
  DISTILLATION: { unit: "derived_training", stage: "steering" },
  UNIFIED_PROMOTION: { unit: "auto_promotion", stage: "loop" },
  EXTERNAL_DRIVE_SYNC: { unit: "backup_daemon", stage: "sync" },
  VAST_CPU_PIPELINE: { unit: "utilization_optimizer", stage: "fleet" },
  CONTINUOUS_TRAINING_LOOP: { unit: "training_trigger", stage: "loop" },
  CLUSTER_DATA_SYNC: { unit: "auto_sync", stage: "sync", replacedBy: "AUTO_SYNC" },
  MODEL_DISTRIBUTION: { unit: "model_distribution_daemon", stage: "sync" },
  AUTO_SYNC: { unit: "auto_sync", stage: "sync" },
  TRAINING_NODE_WATCHER: { unit: "training_activity", stage: "sync" },
  TRAINING_DATA_SYNC: { unit: "training_activity", stage: "sync" },
  OWC_IMPORT: { unit: "auto_sync", stage: "sync" },
  EPHEMERAL_SYNC: { unit: "auto_sync", stage: "sync", replacedBy: "AUTO_SYNC" },
  P2P_AUTO_DEPLOY: { unit: "provisioner", stage: "fleet" },
  REPLICATION_MONITOR: { unit: "replication_daemon", stage: "sync", replacedBy: "replication_daemon" },
  REPLICATION_REPAIR: { unit: "replication_daemon", stage: "sync", replacedBy: "replication_daemon" },
  TOURNAMENT_DAEMON: { unit: "elo_service", stage: "loop" },
  FEEDBACK_LOOP: { unit: "feedback_loop", stage: "steering" },
  NPZ_DISTRIBUTION: { unit: "model_distribution_daemon", stage: "sync", replacedBy: "MODEL_DISTRIBUTION" },
  ORPHAN_DETECTION: { unit: "orphan_detection_daemon", stage: "sync" },
  EVALUATION: { unit: "evaluation_daemon", stage: "loop" },
  AUTO_PROMOTION: { unit: "auto_promotion", stage: "loop" },
  S3_BACKUP: { unit: "backup_daemon", stage: "sync" },
  S3_NODE_SYNC: { unit: "auto_sync", stage: "sync" },
  S3_CONSOLIDATION: { unit: "data_consolidation", stage: "sync" },
  QUALITY_MONITOR: { unit: "quality_monitor_daemon", stage: "loop" },
  INTEGRITY_CHECK: { unit: "parity_validator", stage: "loop" },
  MODEL_PERFORMANCE_WATCHDOG: { unit: "model_performance_watchdog", stage: "loop" },
  JOB_SCHEDULER: { unit: "job_scheduler", stage: "work" },
  RESOURCE_OPTIMIZER: { unit: "utilization_optimizer", stage: "fleet" },
  IDLE_RESOURCE: { unit: "idle_resource_daemon", stage: "fleet" },
  NODE_RECOVERY: { unit: "node_recovery", stage: "fleet" },
  TAILSCALE_HEALTH: { unit: "connectivity_monitor", stage: "fleet" },
  QUEUE_POPULATOR: { unit: "queue_populator", stage: "loop" },
  WORK_QUEUE_MONITOR: { unit: "work_queue_monitor", stage: "work" },
  COORDINATOR_HEALTH_MONITOR: { unit: "daemon_watchdog", stage: "daemons" },
  CURRICULUM_INTEGRATION: { unit: "curriculum_integration", stage: "steering" },
  AUTO_EXPORT: { unit: "auto_export_daemon", stage: "loop" },
  TRAINING_TRIGGER: { unit: "training_trigger", stage: "loop" },
  GAUNTLET_FEEDBACK: { unit: "gauntlet_feedback", stage: "steering" },
  RECOVERY_ORCHESTRATOR: { unit: "node_recovery", stage: "fleet" },
  CACHE_COORDINATION: { unit: "cache_orchestrator", stage: "sync" },
  METRICS_ANALYSIS: { unit: "metrics_orchestrator", stage: "steering" },
  PER_ORCHESTRATOR: { unit: "per_orchestrator", stage: "steering" },
  ADAPTIVE_RESOURCES: { unit: "utilization_optimizer", stage: "fleet" },
  MULTI_PROVIDER: { unit: "multi_provider", stage: "fleet" },
  SYSTEM_HEALTH_MONITOR: { unit: "health_manager", stage: "daemons", replacedBy: "health_manager" },
  HEALTH_SERVER: { unit: "http_server", stage: "daemons" },
  MAINTENANCE: { unit: "maintenance", stage: "daemons" },
  UTILIZATION_OPTIMIZER: { unit: "utilization_optimizer", stage: "fleet" },
  LAMBDA_IDLE: { unit: "idle_shutdown", stage: "fleet", replacedBy: "idle_shutdown" },
  VAST_IDLE: { unit: "idle_shutdown", stage: "fleet", replacedBy: "idle_shutdown" },
  CLUSTER_WATCHDOG: { unit: "node_health", stage: "fleet" },
  DATA_CLEANUP: { unit: "disk_space_manager", stage: "sync" },
  DATA_CONSOLIDATION: { unit: "data_consolidation", stage: "sync" },
  NPZ_COMBINATION: { unit: "auto_export_daemon", stage: "loop" },
  DISK_SPACE_MANAGER: { unit: "disk_space_manager", stage: "sync" },
  COORDINATOR_DISK_MANAGER: { unit: "disk_space_manager", stage: "sync" },
  SYNC_PUSH: { unit: "auto_sync", stage: "sync" },
  UNIFIED_DATA_PLANE: { unit: "auto_sync", stage: "sync" },
  NODE_AVAILABILITY: { unit: "multi_provider", stage: "fleet" },
  AVAILABILITY_NODE_MONITOR: { unit: "node_health", stage: "fleet" },
  AVAILABILITY_RECOVERY_ENGINE: { unit: "node_recovery", stage: "fleet" },
  AVAILABILITY_PROVISIONER: { unit: "provisioner", stage: "fleet" },
  AVAILABILITY_CAPACITY_PLANNER: { unit: "provisioner", stage: "fleet" },
  CASCADE_TRAINING: { unit: "derived_training", stage: "steering" },
  PROGRESS_WATCHDOG: { unit: "progress_watchdog", stage: "loop" },
  P2P_RECOVERY: { unit: "connectivity_monitor", stage: "fleet" },
  MEMORY_MONITOR: { unit: "resource_monitor", stage: "daemons" },
  STALE_FALLBACK: { unit: "training_trigger", stage: "loop" },
  CONNECTIVITY_RECOVERY: { unit: "connectivity_monitor", stage: "fleet" },
  NNUE_TRAINING: { unit: "derived_training", stage: "steering" },
  ARCHITECTURE_FEEDBACK: { unit: "gauntlet_feedback", stage: "steering" },
} as const satisfies Readonly<Record<string, DaemonTypeRow>>;

export type DaemonType = keyof typeof daemonTypes;

/** `DaemonType.AUTO_SYNC` and its like, for those who come from the Python system. */
export const DaemonType = Object.freeze(Object.fromEntries(Object.keys(daemonTypes).map((name) => [name, name]))) as {
  readonly [N in DaemonType]: N;
};

const rowOf = (name: string): DaemonTypeRow | undefined =>
  Object.hasOwn(daemonTypes, name) ? daemonTypes[name as DaemonType] : undefined;

/** Its lower-case value is the name of another unit: that one keeps it. */
const TAKEN_VALUES: ReadonlySet<string> = new Set(["sync_coordinator"]);

/** The constant behind a constant or its lower-case value. */
const constantOf = (name: string): string | undefined => {
  if (rowOf(name) !== undefined) return name;
  const upper = name.toUpperCase();
  return name === name.toLowerCase() && !TAKEN_VALUES.has(name) && rowOf(upper) !== undefined ? upper : undefined;
};

/** The name under which a daemon is registered: that of its unit for a daemon type, any other name as it is. */
export const canonicalDaemonName = (name: string): string => rowOf(name)?.unit ?? name;

export interface ResolvedDaemon {
  readonly name: string;
  /** What to tell whoever uses a deprecated name. */
  readonly notice: string | null;
}

/**
 * The daemon that a name means: a registered one by its own name, or the unit that answers for a daemon type. A type whose
 * unit does not exist yet is an error that says so.
 */
export function resolveDaemon(name: string, registered: ReadonlySet<string>): ResolvedDaemon {
  if (registered.has(name)) return { name, notice: null };
  const constant = constantOf(name);
  if (constant === undefined)
    throw new OperatingError(
      "UNKNOWN_DAEMON",
      `there is no daemon '${name}'.${didYouMean(name, [...registered, ...Object.keys(daemonTypes)])}`,
      { hint: "getStatus() lists the daemons that are registered." },
    );
  const { unit, stage, replacedBy } = rowOf(constant)!;
  if (!registered.has(unit))
    throw new OperatingError(
      "DAEMON_NOT_BUILT",
      `'${name}' is the work of the unit '${unit}', which does not exist here yet`,
      { hint: `It comes with the stage '${stage}'.`, details: { daemon_type: constant, unit, stage } },
    );
  return { name: unit, notice: replacedBy === undefined ? null : `'${name}' is deprecated: use '${replacedBy}'` };
}

/** Which units a process runs, by what it is for. A unit enters when it works; each profile holds what its units need. */
export const daemonProfiles = {
  coordinator: [
    "event_router",
    "daemon_control",
    "daemon_watchdog",
    "resource_monitor",
    "dlq_retry",
    "maintenance",
    "health_manager",
    "alert_manager",
    "membership",
    "resource_coordinator",
    "task_coordinator",
    "global_task_coordinator",
    "work_queue_monitor",
    "job_reaper",
    "job_scheduler",
    "model_coordinator",
    "training_coordinator",
    "queue_populator",
    "parity_validator",
    "selfplay_orchestrator",
    "selfplay_scheduler",
    "pipeline_orchestrator",
    "auto_export_daemon",
    "quality_monitor_daemon",
    "training_trigger",
    "evaluation_daemon",
    "elo_service",
    "model_performance_watchdog",
    "auto_promotion",
    "model_rollback",
    "progress_watchdog",
    "http_server",
  ],
  training_node: ["event_router", "daemon_control", "daemon_watchdog", "resource_monitor", "http_server"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** The units of the eight daemon types that the Python system calls critical. */
export const criticalDaemons: readonly string[] = (
  [
    "EVENT_ROUTER",
    "DAEMON_WATCHDOG",
    "DATA_PIPELINE",
    "AUTO_SYNC",
    "QUEUE_POPULATOR",
    "IDLE_RESOURCE",
    "FEEDBACK_LOOP",
    "MEMORY_MONITOR",
  ] as const
).map((type) => daemonTypes[type].unit);

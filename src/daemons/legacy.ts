/** Names of the Python system that its users know, as plain data: how it wires, what it calls its coordinators and daemons. */

/** How its registry wires a coordinator. Ours are all wired at the start; the word is for its readers. */
export const PATTERNS = ["WIRE", "GET", "IMPORT", "SKIP", "DELEGATE"] as const;
export type Pattern = (typeof PATTERNS)[number];

/** The nine layers in which coordinators are brought up, lowest first. */
export const coordinatorLayers = {
  1: "Foundational: depends on nothing",
  2: "Infrastructure support",
  3: "Sync and training",
  4: "Data integrity",
  5: "Selfplay",
  6: "Pipeline and jobs",
  7: "Background automation",
  8: "Metrics and optimization",
  9: "Leadership",
} as const;

/** Its coordinators, by layer. One behind which there is no unit is open: the audit counts them. */
export const coordinatorNames = {
  1: ["task_coordinator", "global_task_coordinator", "resource_coordinator", "cache_orchestrator"],
  2: ["health_manager", "error_coordinator", "recovery_manager", "model_coordinator"],
  3: ["sync_coordinator", "training_coordinator"],
  4: ["transfer_verifier", "ephemeral_guard", "queue_populator"],
  5: ["selfplay_orchestrator", "selfplay_scheduler"],
  6: ["pipeline_orchestrator", "multi_provider", "job_scheduler"],
  7: [
    "auto_export_daemon",
    "evaluation_daemon",
    "model_distribution_daemon",
    "idle_resource_daemon",
    "quality_monitor_daemon",
    "orphan_detection_daemon",
    "training_activity",
    "curriculum_integration",
  ],
  8: ["metrics_orchestrator", "optimization_coordinator"],
  9: ["leadership_coordinator"],
} as const;

/** What a bootstrap can be told to leave out; units name the one they belong to. */
export const FEATURES = [
  "tasks",
  "resources",
  "cache",
  "health",
  "models",
  "sync",
  "training",
  "transfer",
  "ephemeral",
  "queue",
  "selfplay",
  "pipeline",
  "providers",
  "jobs",
  "export",
  "evaluation",
  "distribution",
  "idle",
  "quality",
  "orphans",
  "curriculum",
  "metrics",
  "optimization",
  "leadership",
] as const;
export type Feature = (typeof FEATURES)[number];

/** Units that are to come and will do the work of daemon types, by the stage that brings them. */
const plannedUnits = {
  auto_sync: "sync",
  model_distribution_daemon: "sync",
  backup_daemon: "sync",
  training_activity: "sync",
  orphan_detection_daemon: "sync",
  data_consolidation: "sync",
  cache_orchestrator: "sync",
  disk_space_manager: "sync",
} as const;

/**
 * Its daemon types. The units name those whose work they do; several types may be one unit. While no unit names a type,
 * the one that is to do its work stands here.
 */
export const daemonTypes = {
  SYNC_COORDINATOR: "auto_sync",
  HIGH_QUALITY_SYNC: "auto_sync",
  ELO_SYNC: null,
  MODEL_SYNC: "model_distribution_daemon",
  HEALTH_CHECK: null,
  CLUSTER_MONITOR: null,
  QUEUE_MONITOR: null,
  NODE_HEALTH_MONITOR: null,
  EVENT_ROUTER: null,
  CROSS_PROCESS_POLLER: null,
  DLQ_RETRY: null,
  DAEMON_WATCHDOG: null,
  DATA_PIPELINE: null,
  SELFPLAY_COORDINATOR: null,
  P2P_BACKEND: null,
  GOSSIP_SYNC: "auto_sync",
  DATA_SERVER: null,
  DISTILLATION: null,
  UNIFIED_PROMOTION: null,
  EXTERNAL_DRIVE_SYNC: "backup_daemon",
  VAST_CPU_PIPELINE: null,
  CONTINUOUS_TRAINING_LOOP: null,
  CLUSTER_DATA_SYNC: "auto_sync",
  MODEL_DISTRIBUTION: "model_distribution_daemon",
  AUTO_SYNC: "auto_sync",
  TRAINING_NODE_WATCHER: "training_activity",
  TRAINING_DATA_SYNC: "training_activity",
  OWC_IMPORT: "auto_sync",
  EPHEMERAL_SYNC: "auto_sync",
  P2P_AUTO_DEPLOY: null,
  REPLICATION_MONITOR: null,
  REPLICATION_REPAIR: null,
  TOURNAMENT_DAEMON: null,
  FEEDBACK_LOOP: null,
  NPZ_DISTRIBUTION: "model_distribution_daemon",
  ORPHAN_DETECTION: "orphan_detection_daemon",
  EVALUATION: null,
  AUTO_PROMOTION: null,
  S3_BACKUP: "backup_daemon",
  S3_NODE_SYNC: "auto_sync",
  S3_CONSOLIDATION: "data_consolidation",
  QUALITY_MONITOR: null,
  INTEGRITY_CHECK: null,
  MODEL_PERFORMANCE_WATCHDOG: null,
  JOB_SCHEDULER: null,
  RESOURCE_OPTIMIZER: null,
  IDLE_RESOURCE: null,
  NODE_RECOVERY: null,
  TAILSCALE_HEALTH: null,
  QUEUE_POPULATOR: null,
  WORK_QUEUE_MONITOR: null,
  COORDINATOR_HEALTH_MONITOR: null,
  CURRICULUM_INTEGRATION: null,
  AUTO_EXPORT: null,
  TRAINING_TRIGGER: null,
  GAUNTLET_FEEDBACK: null,
  RECOVERY_ORCHESTRATOR: null,
  CACHE_COORDINATION: "cache_orchestrator",
  METRICS_ANALYSIS: null,
  PER_ORCHESTRATOR: null,
  ADAPTIVE_RESOURCES: null,
  MULTI_PROVIDER: null,
  SYSTEM_HEALTH_MONITOR: null,
  HEALTH_SERVER: null,
  MAINTENANCE: null,
  UTILIZATION_OPTIMIZER: null,
  LAMBDA_IDLE: null,
  VAST_IDLE: null,
  CLUSTER_WATCHDOG: null,
  DATA_CLEANUP: "disk_space_manager",
  DATA_CONSOLIDATION: "data_consolidation",
  NPZ_COMBINATION: null,
  DISK_SPACE_MANAGER: "disk_space_manager",
  COORDINATOR_DISK_MANAGER: "disk_space_manager",
  SYNC_PUSH: "auto_sync",
  UNIFIED_DATA_PLANE: "auto_sync",
  NODE_AVAILABILITY: null,
  AVAILABILITY_NODE_MONITOR: null,
  AVAILABILITY_RECOVERY_ENGINE: null,
  AVAILABILITY_PROVISIONER: null,
  AVAILABILITY_CAPACITY_PLANNER: null,
  CASCADE_TRAINING: null,
  PROGRESS_WATCHDOG: null,
  P2P_RECOVERY: null,
  MEMORY_MONITOR: null,
  STALE_FALLBACK: null,
  CONNECTIVITY_RECOVERY: null,
  NNUE_TRAINING: null,
  ARCHITECTURE_FEEDBACK: null,
} as const satisfies Readonly<Record<string, keyof typeof plannedUnits | null>>;

export type DaemonType = keyof typeof daemonTypes;

/** `DaemonType.AUTO_SYNC` and its like, for those who come from the Python system. */
export const DaemonType = Object.freeze(Object.fromEntries(Object.keys(daemonTypes).map((name) => [name, name]))) as {
  readonly [N in DaemonType]: N;
};

/** Deprecated types, and what to write instead. */
const replacements: { readonly [N in DaemonType]?: string } = {
  SYNC_COORDINATOR: "AUTO_SYNC",
  HEALTH_CHECK: "AVAILABILITY_NODE_MONITOR",
  NODE_HEALTH_MONITOR: "AVAILABILITY_NODE_MONITOR",
  CLUSTER_DATA_SYNC: "AUTO_SYNC",
  EPHEMERAL_SYNC: "AUTO_SYNC",
  REPLICATION_MONITOR: "replication_daemon",
  REPLICATION_REPAIR: "replication_daemon",
  NPZ_DISTRIBUTION: "MODEL_DISTRIBUTION",
  SYSTEM_HEALTH_MONITOR: "health_manager",
  LAMBDA_IDLE: "idle_shutdown",
  VAST_IDLE: "idle_shutdown",
};

/** What is known of a daemon type; nothing of any other name. */
export const daemonTypeRow = (name: string) => {
  if (!Object.hasOwn(daemonTypes, name)) return undefined;
  const type = name as DaemonType;
  const unit = daemonTypes[type] ?? undefined;
  return { unit, stage: unit && plannedUnits[unit], replacedBy: replacements[type] };
};

/** The units behind the eight daemon types that it calls critical. */
export const criticalDaemons: readonly string[] = [
  "event_router",
  "daemon_watchdog",
  "pipeline_orchestrator",
  "auto_sync",
  "queue_populator",
  "idle_resource_daemon",
  "feedback_loop",
  "resource_monitor",
];

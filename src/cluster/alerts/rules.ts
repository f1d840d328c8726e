/**
 * What becomes an alert: one row for each alarming event. Events of one group with equal key fields are one alert. Texts name
 * fields of the payload in braces.
 */
import type { EventName } from "../../events/index.ts";
import type { AlertPolicy, AlertSeverity } from "./alert.ts";

export interface FieldIs {
  readonly field: string;
  readonly is: string;
}

/** An event that ends an alert; its fields stand in the order of the rule's key. */
export interface Closer<N extends string = string> {
  readonly event: N;
  readonly by: readonly string[];
  readonly when?: FieldIs;
}

export interface AlertRule<N extends string = string, C extends string = string> {
  readonly event: N;
  /** The name of the event unless several rules mean one trouble. */
  readonly group?: string;
  /** Fields that tell one alert from another; a word that begins with `=` stands for itself. */
  readonly by: readonly string[];
  /** Fixed, or taken from the payload's own field `severity`, or from its `level` of pressure. */
  readonly severity: AlertSeverity | "own" | "level";
  readonly title: string;
  readonly message: string;
  readonly policy: keyof typeof alertPolicies;
  readonly closedBy?: readonly Closer<C>[];
  /** The event itself says that it is over when this holds. */
  readonly overWhen?: FieldIs;
}

const HOUR_MS = 3_600_000;

/** The kinds of trouble. */
export const alertPolicies = {
  /** A state that lasts until an event ends it: it reminds, and becomes worse while nobody cares. */
  lasting: {
    coolDownMs: HOUR_MS,
    escalateAfterMs: HOUR_MS,
    escalateAtCounts: [],
    worst: "critical",
    closeAfterSilenceMs: null,
  },
  /** A failure that may come again: it becomes worse by repeats, and is over when it was not seen for six hours. */
  passing: {
    coolDownMs: HOUR_MS,
    escalateAfterMs: null,
    escalateAtCounts: [10, 100],
    worst: "critical",
    closeAfterSilenceMs: 6 * HOUR_MS,
  },
  /** Something was lost or needs a decision: only a person closes it. */
  person: {
    coolDownMs: 4 * HOUR_MS,
    escalateAfterMs: null,
    escalateAtCounts: [],
    worst: "critical",
    closeAfterSilenceMs: null,
  },
} as const satisfies Readonly<Record<string, AlertPolicy>>;

const rule = <const N extends EventName, const C extends EventName = never>(row: AlertRule<N, C>) => row;
const config = ["config_key"] as const;
const node = ["node_id"] as const;
const lastingNode = { by: node, policy: "lasting" } as const;

// biome-ignore format: a table, one rule for each event
export const alertRules = [
  // The loop.
  rule({ event: "TRAINING_FAILED", by: config, severity: "error", policy: "passing", title: "Training of {config_key} failed", message: "{error}", closedBy: [{ event: "TRAINING_COMPLETED", by: config }] }),
  rule({ event: "TRAINING_LOSS_ANOMALY", by: config, severity: "warning", policy: "passing", title: "The loss of {config_key} is not normal", message: "{anomaly} in epoch {training_epoch} of {job_id}: loss {loss}", closedBy: [{ event: "TRAINING_COMPLETED", by: config }] }),
  rule({ event: "NPZ_COMBINATION_FAILED", by: config, severity: "warning", policy: "passing", title: "Combining the samples of {config_key} failed", message: "{error}", closedBy: [{ event: "NPZ_COMBINATION_COMPLETE", by: config }] }),
  rule({ event: "EVALUATION_FAILED", by: config, severity: "error", policy: "passing", title: "The evaluation of {config_key} failed", message: "{model_id}: {error}", closedBy: [{ event: "EVALUATION_COMPLETED", by: config }] }),
  rule({ event: "PROMOTION_FAILED", by: config, severity: "error", policy: "passing", title: "The promotion for {config_key} failed", message: "{model_id}: {error}", closedBy: [{ event: "MODEL_PROMOTED", by: config }] }),
  rule({ event: "REGRESSION_DETECTED", group: "REGRESSION", by: config, severity: "warning", policy: "lasting", title: "{config_key} became weaker", message: "{model_id} lost {elo_drop} Elo over {games} games", closedBy: [{ event: "REGRESSION_CLEARED", by: config }] }),
  rule({ event: "REGRESSION_SEVERE", group: "REGRESSION", by: config, severity: "error", policy: "lasting", title: "{config_key} became much weaker", message: "{model_id} lost {elo_drop} Elo over {games} games", closedBy: [{ event: "REGRESSION_CLEARED", by: config }] }),
  rule({ event: "REGRESSION_CRITICAL", group: "REGRESSION", by: config, severity: "critical", policy: "lasting", title: "{config_key} collapsed", message: "{model_id} lost {elo_drop} Elo over {games} games", closedBy: [{ event: "REGRESSION_CLEARED", by: config }] }),
  rule({ event: "PROGRESS_STALL_DETECTED", by: ["config_key", "pipeline_stage"], severity: "error", policy: "lasting", title: "{config_key} is stuck in {pipeline_stage}", message: "no progress for {stalled_seconds} s; {deadline_seconds} s are allowed", closedBy: [{ event: "PROGRESS_RECOVERED", by: ["config_key", "pipeline_stage"] }] }),
  rule({ event: "MODEL_CORRUPTED", by: ["model_id", "node_id"], severity: "critical", policy: "person", title: "Model {model_id} is damaged on {node_id}", message: "{damage}; its hash should be {artifact_hash}", closedBy: [{ event: "REPAIR_COMPLETED", by: ["artifact_hash", "node_id"] }] }),
  // Data.
  rule({ event: "DATA_QUALITY_ALERT", by: ["config_key", "error_code"], severity: "own", policy: "passing", title: "The data of {config_key} is not sound", message: "{message}", overWhen: { field: "severity", is: "info" } }),
  rule({ event: "LOW_QUALITY_DATA_WARNING", by: config, severity: "warning", policy: "lasting", title: "The data of {config_key} is poor", message: "quality {quality_score} of {games} games; {threshold} is asked for", closedBy: [{ event: "HIGH_QUALITY_DATA_AVAILABLE", by: config }] }),
  rule({ event: "MODEL_DISTRIBUTION_FAILED", group: "DISTRIBUTION", by: ["model_id"], severity: "error", policy: "passing", title: "Model {model_id} could not be distributed", message: "{error}", closedBy: [{ event: "MODEL_DISTRIBUTION_COMPLETE", by: ["model_id"] }] }),
  rule({ event: "DISTRIBUTION_INCOMPLETE", group: "DISTRIBUTION", by: ["model_id"], severity: "warning", policy: "lasting", title: "Model {model_id} is on too few nodes", message: "{holding_nodes} of {required_nodes} nodes have it", closedBy: [{ event: "MODEL_DISTRIBUTION_COMPLETE", by: ["model_id"] }] }),
  rule({ event: "SYNC_STALLED", group: "SYNC", by: node, severity: "warning", policy: "passing", title: "A transfer of {node_id} is stuck", message: "{data_type} by {transport}: nothing moved for {idle_seconds} s" }),
  rule({ event: "SYNC_CHECKSUM_FAILED", by: node, severity: "error", policy: "passing", title: "Data arrived damaged at {node_id}", message: "{artifact_hash} arrived as {actual_hash}" }),
  rule({ event: "SYNC_FAILURE_CRITICAL", group: "SYNC", by: node, severity: "critical", policy: "passing", title: "Data no longer reaches or leaves {node_id}", message: "{consecutive_failures} transfers in a row failed: {error}" }),
  rule({ event: "PRIORITY_SYNC_FAILED", by: config, severity: "error", policy: "passing", title: "An urgent transfer for {config_key} failed", message: "{error}" }),
  rule({ event: "REPAIR_FAILED", by: ["artifact_hash"], severity: "error", policy: "passing", title: "A lost copy could not be made again", message: "{artifact_hash} has {copies} copies; {node_id}: {error}", closedBy: [{ event: "REPAIR_COMPLETED", by: ["artifact_hash"] }] }),
  rule({ event: "REPLICATION_ALERT", by: node, severity: "own", policy: "passing", title: "Data has too few copies", message: "{message}" }),
  // Machines.
  rule({ event: "NODE_SUSPECT", ...lastingNode, severity: "warning", title: "Node {node_id} is silent", message: "no sign of life for {silent_seconds} s", closedBy: [{ event: "HOST_ONLINE", by: node }, { event: "NODE_RECOVERED", by: node }, { event: "NODE_RETIRED", by: node }] }),
  rule({ event: "NETWORK_ISOLATION_DETECTED", ...lastingNode, severity: "error", title: "Node {node_id} is cut off", message: "it reaches {peers} of {expected_peers} peers", closedBy: [{ event: "P2P_HEALTH_RECOVERED", by: node }, { event: "NODE_RECOVERED", by: node }] }),
  rule({ event: "RECOVERY_FAILED", ...lastingNode, severity: "error", title: "Node {node_id} could not be repaired", message: "{recovery_action} failed on try {attempts}: {error}", closedBy: [{ event: "NODE_RECOVERED", by: node }, { event: "RECOVERY_COMPLETED", by: node }] }),
  rule({ event: "NODE_PROVISION_FAILED", by: ["provider"], severity: "warning", policy: "passing", title: "{provider} gave no machine", message: "{error}" }),
  rule({ event: "P2P_NODES_DEAD", group: "CLUSTER", by: ["cluster_id"], severity: "error", policy: "lasting", title: "Several nodes are gone at once", message: "{node_ids}", closedBy: [{ event: "P2P_CLUSTER_HEALTHY", by: ["cluster_id"] }] }),
  rule({ event: "P2P_CLUSTER_UNHEALTHY", group: "CLUSTER", by: ["cluster_id"], severity: "critical", policy: "lasting", title: "The cluster is not well", message: "{healthy_nodes} of {total_nodes} nodes are healthy: {reason}", closedBy: [{ event: "P2P_CLUSTER_HEALTHY", by: ["cluster_id"] }] }),
  rule({ event: "CLUSTER_STALL_DETECTED", by: ["cluster_id"], severity: "critical", policy: "lasting", title: "Nothing moves in the cluster", message: "no progress for {stalled_seconds} s on {node_ids}", closedBy: [{ event: "P2P_CLUSTER_HEALTHY", by: ["cluster_id"] }] }),
  rule({ event: "LEADER_LOST", group: "LEADERSHIP", by: ["cluster_id"], severity: "warning", policy: "lasting", title: "The cluster has no leader", message: "{previous_leader_node_id} led: {reason}", closedBy: [{ event: "LEADER_ELECTED", by: ["cluster_id"] }] }),
  rule({ event: "SPLIT_BRAIN_DETECTED", by: ["cluster_id"], severity: "own", policy: "lasting", title: "Several nodes claim to lead", message: "{claiming_node_ids}", closedBy: [{ event: "SPLIT_BRAIN_RESOLVED", by: ["cluster_id"] }] }),
  rule({ event: "RESOURCE_CONSTRAINT", group: "RESOURCE", by: ["node_id", "resource"], severity: "level", policy: "lasting", title: "{resource} of {node_id} runs short", message: "{usage} in use; the limit is {threshold}", overWhen: { field: "level", is: "none" } }),
  rule({ event: "DISK_SPACE_LOW", group: "RESOURCE", by: ["node_id", "=disk"], severity: "level", policy: "lasting", title: "The disk of {node_id} is nearly full", message: "{usage} in use, {free_gb} GB free" }),
  rule({ event: "BUDGET_ALERT", group: "BUDGET", by: ["scope", "period"], severity: "warning", policy: "passing", title: "Spending for {scope} comes close to its limit", message: "{spent_usd} of {limit_usd} US dollars this {period}" }),
  rule({ event: "BUDGET_EXCEEDED", group: "BUDGET", by: ["scope", "period"], severity: "critical", policy: "passing", title: "Spending for {scope} is over its limit", message: "{spent_usd} of {limit_usd} US dollars this {period}" }),
  rule({ event: "LOCK_TIMEOUT", by: ["lock_name"], severity: "warning", policy: "passing", title: "Lock {lock_name} was not given in time", message: "{requested_by} waited {timeout_seconds} s; {holder} holds it" }),
  rule({ event: "DEADLOCK_DETECTED", by: ["lock_name"], severity: "error", policy: "passing", title: "Holders of locks wait for each other", message: "{lock_names}, held by {holders}" }),
  // The program itself.
  rule({ event: "TASK_FAILED", by: ["work_type", "node_id"], severity: "warning", policy: "passing", title: "Tasks of {work_type} fail on {node_id}", message: "{task_id}: {error}" }),
  rule({ event: "DAEMON_CRASH_LOOP_DETECTED", by: ["daemon_name", "node_id"], severity: "error", policy: "passing", title: "Daemon {daemon_name} crashes again and again", message: "{restarts} restarts in {window_seconds} s: {error}" }),
  rule({ event: "DAEMON_PERMANENTLY_FAILED", group: "DAEMON", by: ["daemon_name", "node_id"], severity: "critical", policy: "lasting", title: "Daemon {daemon_name} is given up", message: "{reason}: {error}. Reset it once the cause is gone.", closedBy: [{ event: "DAEMON_STARTED", by: ["daemon_name", "node_id"] }] }),
  rule({ event: "COORDINATOR_INIT_FAILED", group: "COORDINATOR", by: ["coordinator_name", "node_id"], severity: "critical", policy: "lasting", title: "Coordinator {coordinator_name} could not start", message: "{error}", closedBy: [{ event: "COORDINATOR_HEALTHY", by: ["coordinator_name", "node_id"] }] }),
  rule({ event: "COORDINATOR_UNHEALTHY", group: "COORDINATOR", by: ["coordinator_name", "node_id"], severity: "error", policy: "lasting", title: "Coordinator {coordinator_name} no longer does its work", message: "{reason}", closedBy: [{ event: "COORDINATOR_HEALTHY", by: ["coordinator_name", "node_id"] }] }),
  rule({ event: "COORDINATOR_HEALTH_DEGRADED", group: "COORDINATOR", by: ["coordinator_name", "node_id"], severity: "warning", policy: "lasting", title: "Coordinator {coordinator_name} does not work as it should", message: "{reason}", closedBy: [{ event: "COORDINATOR_HEALTHY", by: ["coordinator_name", "node_id"] }] }),
  rule({ event: "HEALTH_ALERT", by: ["component"], severity: "own", policy: "lasting", title: "{component} is not well", message: "{message}", overWhen: { field: "severity", is: "info" } }),
  rule({ event: "ERROR", by: ["component", "error_code"], severity: "own", policy: "passing", title: "{component} reports an error", message: "{error}" }),
  rule({ event: "HANDLER_FAILED", group: "HANDLER", by: ["consumer", "event_type"], severity: "error", policy: "passing", title: "{consumer} cannot handle {event_type}", message: "{error}; the event is a dead letter" }),
  rule({ event: "HANDLER_TIMEOUT", group: "HANDLER", by: ["consumer", "event_type"], severity: "error", policy: "passing", title: "{consumer} cannot handle {event_type}", message: "no end after {timeout_seconds} s; the event is a dead letter" }),
  rule({ event: "DLQ_STALE_EVENTS", by: ["consumer"], severity: "warning", policy: "lasting", title: "Dead letters of {consumer} wait", message: "{dead_letters} of them: {event_types}", closedBy: [{ event: "DLQ_EVENTS_REPLAYED", by: ["consumer"] }] }),
  rule({ event: "DLQ_EVENTS_PURGED", by: ["consumer"], severity: "error", policy: "person", title: "Dead letters of {consumer} were given up", message: "{dead_letters} of {event_types}: {reason}" }),
] as const;

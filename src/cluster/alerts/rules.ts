/**
 * What becomes an alert: one row for each alarming event. Events of one group with equal key fields are one alert. Texts name
 * fields of the payload in braces.
 */
import type { EventName } from "../../events/index.ts";
import { CLUSTER_ID, MANY_NODES } from "../limits.ts";
import type { AlertPolicy, AlertSeverity } from "./alert.ts";

export interface AlertRule<C extends string = string> {
  readonly policy: keyof typeof alertPolicies;
  /** Fixed, or taken from the payload's own field `severity`, or from its `level` of pressure. */
  readonly severity: AlertSeverity | "own" | "level";
  /** Fields that tell one alert from another; a word that begins with `=` stands for itself. */
  readonly by: readonly string[];
  readonly title: string;
  readonly message: string;
  /** Events that end it. */
  readonly closedBy: readonly C[];
  /** The name of the event unless several rules mean one trouble. */
  readonly group?: string;
  /** The event itself says that it is over when this holds. */
  readonly overWhen?: { readonly field: string; readonly is: string };
  /** From so many on it is told of all of them together, and not once for each. */
  readonly many?: Pick<AlertRule, "by" | "title" | "message"> & {
    readonly field: string;
    readonly from: number;
    readonly group: string;
  };
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

const rules =
  (policy: AlertRule["policy"]) =>
  <const C extends EventName = never>(
    severity: AlertRule["severity"],
    by: AlertRule["by"],
    title: string,
    message: string,
    ...closedBy: readonly C[]
  ): AlertRule<C> => ({ policy, severity, by, title, message, closedBy });
const lasting = rules("lasting");
const passing = rules("passing");
const person = rules("person");

const config = ["config_key"];
const node = ["node_id"];
const cluster = ["cluster_id"];
const coordinator = ["coordinator_name", "node_id"];

// biome-ignore format: a table, one rule for each event: severity, key, title, message, and what ends it
export const alertRules = {
  // The loop.
  TRAINING_FAILED: passing("error", config, "Training of {config_key} failed", "{error}", "TRAINING_COMPLETED"),
  TRAINING_LOSS_ANOMALY: passing("warning", config, "The loss of {config_key} is not normal", "{anomaly} in epoch {training_epoch} of {job_id}: loss {loss}", "TRAINING_COMPLETED"),
  NPZ_COMBINATION_FAILED: passing("warning", config, "Combining the samples of {config_key} failed", "{error}", "NPZ_COMBINATION_COMPLETE"),
  EVALUATION_FAILED: passing("error", config, "The evaluation of {config_key} failed", "{model_id}: {error}", "EVALUATION_COMPLETED"),
  PROMOTION_FAILED: passing("error", config, "The promotion for {config_key} failed", "{model_id}: {error}", "MODEL_PROMOTED"),
  REGRESSION_DETECTED: { ...lasting("warning", config, "{config_key} became weaker", "{model_id} lost {elo_drop} Elo over {games} games", "REGRESSION_CLEARED"), group: "REGRESSION" },
  REGRESSION_SEVERE: { ...lasting("error", config, "{config_key} became much weaker", "{model_id} lost {elo_drop} Elo over {games} games", "REGRESSION_CLEARED"), group: "REGRESSION" },
  REGRESSION_CRITICAL: { ...lasting("critical", config, "{config_key} collapsed", "{model_id} lost {elo_drop} Elo over {games} games", "REGRESSION_CLEARED"), group: "REGRESSION" },
  PROGRESS_STALL_DETECTED: lasting("error", ["config_key", "pipeline_stage"], "{config_key} is stuck in {pipeline_stage}", "no progress for {stalled_seconds} s; {deadline_seconds} s are allowed", "PROGRESS_RECOVERED"),
  MODEL_CORRUPTED: person("critical", ["artifact_hash", "node_id"], "Model {model_id} is damaged on {node_id}", "{damage}; its hash should be {artifact_hash}", "REPAIR_COMPLETED"),
  // Data.
  DATA_QUALITY_ALERT: { ...passing("own", ["config_key", "error_code"], "The data of {config_key} is not sound", "{message}"), overWhen: { field: "severity", is: "info" } },
  LOW_QUALITY_DATA_WARNING: lasting("warning", config, "The data of {config_key} is poor", "quality {quality_score} of {games} games; {threshold} is asked for", "HIGH_QUALITY_DATA_AVAILABLE"),
  MODEL_DISTRIBUTION_FAILED: { ...passing("error", ["model_id"], "Model {model_id} could not be distributed", "{error}", "MODEL_DISTRIBUTION_COMPLETE"), group: "DISTRIBUTION" },
  DISTRIBUTION_INCOMPLETE: { ...lasting("warning", ["model_id"], "Model {model_id} is on too few nodes", "{holding_nodes} of {required_nodes} nodes have it", "MODEL_DISTRIBUTION_COMPLETE"), group: "DISTRIBUTION" },
  SYNC_STALLED: { ...passing("warning", node, "A transfer of {node_id} is stuck", "{data_type} by {transport}: nothing moved for {idle_seconds} s"), group: "SYNC" },
  SYNC_CHECKSUM_FAILED: passing("error", node, "Data arrived damaged at {node_id}", "{artifact_hash} from {source_node_id}: {error}"),
  SYNC_FAILURE_CRITICAL: { ...passing("critical", node, "Data no longer reaches or leaves {node_id}", "{consecutive_failures} transfers in a row failed: {error}"), overWhen: { field: "severity", is: "info" }, group: "SYNC" },
  PRIORITY_SYNC_FAILED: passing("error", config, "An urgent transfer for {config_key} failed", "{error}"),
  REPAIR_FAILED: passing("error", ["artifact_hash"], "A lost copy could not be made again", "{artifact_hash} has {copies} copies; {node_id}: {error}", "REPAIR_COMPLETED"),
  REPLICATION_ALERT: { ...passing("own", node, "Data has too few copies", "{message}"), overWhen: { field: "severity", is: "info" } },
  // Machines.
  NODE_SUSPECT: { ...lasting("warning", node, "Node {node_id} is silent", "no sign of life for {silent_seconds} s", "HOST_ONLINE", "NODE_RECOVERED", "NODE_RETIRED"), many: { field: "silent_nodes", from: MANY_NODES, by: [`=${CLUSTER_ID}`], group: "CLUSTER", title: "Many nodes are silent at once", message: "{silent_nodes} nodes; no sign of life of {node_id} for {silent_seconds} s" } },
  NETWORK_ISOLATION_DETECTED: lasting("error", node, "Node {node_id} is cut off", "it reaches {peers} of {expected_peers} peers", "P2P_HEALTH_RECOVERED", "NODE_RECOVERED"),
  RECOVERY_FAILED: lasting("error", node, "Node {node_id} could not be repaired", "{recovery_action} failed on try {attempts}: {error}", "NODE_RECOVERED", "RECOVERY_COMPLETED"),
  NODE_PROVISION_FAILED: passing("warning", ["provider"], "{provider} gave no machine", "{error}"),
  P2P_NODES_DEAD: { ...lasting("error", cluster, "Several nodes are gone at once", "{node_ids}", "P2P_CLUSTER_HEALTHY"), group: "CLUSTER" },
  P2P_CLUSTER_UNHEALTHY: { ...lasting("critical", cluster, "The cluster is not well", "{healthy_nodes} of {total_nodes} nodes are healthy: {reason}", "P2P_CLUSTER_HEALTHY"), group: "CLUSTER" },
  CLUSTER_STALL_DETECTED: lasting("critical", cluster, "Nothing moves in the cluster", "no progress for {stalled_seconds} s: {reason}", "P2P_CLUSTER_HEALTHY"),
  LEADER_LOST: { ...lasting("warning", cluster, "The cluster has no leader", "{previous_leader_node_id} led: {reason}", "LEADER_ELECTED"), group: "LEADERSHIP" },
  SPLIT_BRAIN_DETECTED: lasting("own", cluster, "Several nodes claim to lead", "{claiming_node_ids}", "SPLIT_BRAIN_RESOLVED"),
  RESOURCE_CONSTRAINT: { ...lasting("level", ["node_id", "resource"], "{resource} of {node_id} runs short", "{usage} in use; the limit is {threshold}"), group: "RESOURCE", overWhen: { field: "level", is: "none" } },
  DISK_SPACE_LOW: { ...lasting("level", ["node_id", "=disk"], "The disk of {node_id} is nearly full", "{usage} in use, {free_gb} GB free"), group: "RESOURCE" },
  BUDGET_ALERT: { ...passing("warning", ["scope", "period"], "Spending for {scope} comes close to its limit", "{spent_usd} of {limit_usd} US dollars this {period}"), group: "BUDGET" },
  BUDGET_EXCEEDED: { ...passing("critical", ["scope", "period"], "Spending for {scope} is over its limit", "{spent_usd} of {limit_usd} US dollars this {period}"), group: "BUDGET" },
  LOCK_TIMEOUT: passing("warning", ["lock_name"], "Lock {lock_name} was not given in time", "{requested_by} waited {timeout_seconds} s; {holder} holds it"),
  DEADLOCK_DETECTED: passing("error", ["lock_name"], "Holders of locks wait for each other", "{lock_names}, held by {holders}"),
  // The program itself.
  TASK_FAILED: passing("warning", ["work_type", "node_id"], "A task of {work_type} failed on {node_id}", "{task_id}: {error}"),
  DAEMON_CRASH_LOOP_DETECTED: passing("error", ["daemon_name", "node_id"], "Daemon {daemon_name} crashes again and again", "{restarts} restarts in {window_seconds} s: {error}"),
  DAEMON_PERMANENTLY_FAILED: { ...lasting("critical", ["daemon_name", "node_id"], "Daemon {daemon_name} is given up", "{reason}: {error}. Reset it once the cause is gone.", "DAEMON_STARTED"), group: "DAEMON" },
  COORDINATOR_INIT_FAILED: { ...lasting("critical", coordinator, "Coordinator {coordinator_name} could not start", "{error}", "COORDINATOR_HEALTHY"), group: "COORDINATOR" },
  COORDINATOR_UNHEALTHY: { ...lasting("error", coordinator, "Coordinator {coordinator_name} no longer does its work", "{reason}", "COORDINATOR_HEALTHY"), group: "COORDINATOR" },
  COORDINATOR_HEALTH_DEGRADED: { ...lasting("warning", coordinator, "Coordinator {coordinator_name} does not work as it should", "{reason}", "COORDINATOR_HEALTHY"), group: "COORDINATOR" },
  HEALTH_ALERT: { ...lasting("own", ["component"], "{component} is not well", "{message}"), overWhen: { field: "severity", is: "info" } },
  ERROR: passing("own", ["component", "error_code"], "{component} reports an error", "{error}"),
  HANDLER_FAILED: { ...passing("error", ["consumer", "event_type"], "{consumer} cannot handle {event_type}", "{error}; the event is a dead letter"), group: "HANDLER" },
  HANDLER_TIMEOUT: { ...passing("error", ["consumer", "event_type"], "{consumer} cannot handle {event_type}", "no end after {timeout_seconds} s; the event is a dead letter"), group: "HANDLER" },
  DLQ_STALE_EVENTS: lasting("warning", ["consumer"], "Dead letters of {consumer} wait", "{dead_letters} of them: {event_types}", "DLQ_EVENTS_REPLAYED"),
  DLQ_EVENTS_PURGED: person("error", ["consumer"], "Dead letters of {consumer} were given up", "{dead_letters} of {event_types}: {reason}"),
} satisfies Partial<Record<EventName, AlertRule>>;

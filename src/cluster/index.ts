/**
 * cluster: the state of the machines, of the system as a whole, and who is told when it is bad.
 *
 * `membership` knows which nodes belong to the cluster and which of them are there; a node is its key, and every word of it
 * is signed. `resource_coordinator` keeps what they offer. `resource_monitor` measures its node. `health_manager` makes one score and one verdict on new work of what all others say.
 * `alert_manager` makes alerts of what is alarming, and of what is missing, and sends them out.
 *
 * It guarantees that
 * - a request of a node counts once, from that node alone, in one run of the coordinator; whoever is turned away is counted;
 * - each change of a node's state is stored and told once, in one commit, and silence counts only while somebody listens;
 * - a node measures itself cheaply, and each crossing of a limit is told once, also over a restart;
 * - nothing is healthy for want of news: who is expected and has not done its work before its deadline is bad, and a judgement
 *   that nobody renews is worth nothing;
 * - new work is paused and resumed by a stored verdict that names its reasons, and that does not flap;
 * - an alert, its messages and the ack of its event are one commit: none is lost, and equal ones are one alert with a count;
 * - a message is sent at least once, under one idempotency key for all of its tries; a receiver that is dead holds up nobody,
 *   and none is sent more in a minute than it may be: the rest comes as a summary;
 * - silence is only counted while somebody listens, so that no restart is taken for a loss;
 * - secrets of receivers are in no log, error or status.
 */
export {
  type AlertManagerPorts,
  type AlertManagerSettings,
  alertManagerCoordinator,
  alertManagerDefaults,
  recipientsOf,
} from "./alert-manager.coordinator.ts";
export { type AbsenceRule, builtinAbsenceRules } from "./alerts/absence.ts";
export {
  ALERT_SEVERITIES,
  ALERT_STATUSES,
  type Alert,
  type AlertDelivery,
  type AlertPolicy,
  type AlertSeverity,
  type AlertSnapshot,
  type AlertStatus,
} from "./alerts/alert.ts";
export { type AlertBook, type AlertBookPorts, type AlertFilter, alertBook } from "./alerts/alert-book.ts";
export type { Recipient } from "./alerts/alert-rows.ts";
export type { DeliverySettings } from "./alerts/delivery.ts";
export type { AlertSummary } from "./alerts/outbox.ts";
export { type AlertRule, alertPolicies, alertRules } from "./alerts/rules.ts";
export { parseAlertRules, readAlertRules } from "./alerts/rules-file.ts";
export {
  type AlertMessage,
  type AlertSink,
  type HttpSinkOptions,
  logSink,
  slackSink,
  type WebhookSinkOptions,
  webhookSink,
} from "./alerts/sink.ts";
export { type ClusterPorts, clusterUnits } from "./cluster-units.ts";
export { clusterExcuses } from "./excuses.ts";
export type { ComponentWork } from "./health/components.ts";
export type { Gate } from "./health/pause.ts";
export type { HealthPart } from "./health/score.ts";
export { healthGates, type SystemHealth, systemHealth } from "./health/system-health.ts";
export {
  type HealthManagerPorts,
  type HealthManagerSettings,
  healthManagerCoordinator,
  healthManagerDefaults,
} from "./health-manager.coordinator.ts";
export {
  type MembershipPorts,
  type MembershipSettings,
  membershipDaemon,
  membershipDefaults,
} from "./membership.daemon.ts";
export { nodeIdOf, nodeKeyOf } from "./nodes/identity.ts";
export {
  type JoinRequest,
  type NodeBeat,
  NodeBook,
  type NodeBookPorts,
  type NodeLoad,
  type NodeView,
} from "./nodes/node-book.ts";
export { createNodeGate, type NodeGate, type UnprovenNode } from "./nodes/node-gate.ts";
export type { NodeCapabilities, NodeRow } from "./nodes/node-rows.ts";
export { createRefusals, type Refusal, type Refusals } from "./nodes/refusals.ts";
export {
  BODY_HASH_HEADER,
  NODE_HEADER,
  type NodeClaim,
  type SignedRequest,
  signRequest,
} from "./nodes/signature.ts";
export { NODE_STATES, type NodeState } from "./nodes/states.ts";
export { type NodeTiming, nodeTimingDefaults, timingOnTheWire } from "./nodes/timing.ts";
export { isDeprecated, PROTOCOL } from "./nodes/versions.ts";
export {
  type ResourceCoordinatorPorts,
  type ResourceCoordinatorSettings,
  resourceCoordinator,
  resourceCoordinatorDefaults,
} from "./resource.coordinator.ts";
export {
  type ResourceMonitorPorts,
  type ResourceMonitorSettings,
  resourceMonitorDaemon,
  resourceMonitorDefaults,
} from "./resource-monitor.daemon.ts";
export type { GpuSample, ResourceSample, ResourceSampler } from "./resources/sample.ts";
export { type SystemSamplerOptions, systemSampler } from "./resources/system-sampler.ts";

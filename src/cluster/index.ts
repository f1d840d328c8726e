/**
 * cluster: the state of the machines, of the system as a whole, and who is told when it is bad.
 *
 * `membership` knows which nodes belong to the cluster and which of them are there; a node is its key, and every word of it
 * is signed. `node_health` judges each by what it does, and `availability.ts` answers for all rooms whether it may get work, data or a
 * model. `cluster_monitor` sums them into one verdict. `node_recovery` repairs those that are ill, by one ladder. `resource_coordinator` keeps what they offer. `resource_monitor` measures its node, and
 * `idle_resource_daemon` says that it could do more. `health_manager` makes one score and one verdict of what all others say.
 * `alert_manager` makes alerts of what is alarming, and of what is missing, and sends them out.
 *
 * It guarantees that
 * - a request of a node counts once, from that node alone, in one run of the coordinator; whoever is turned away is counted;
 * - each change of a node's state is stored and told once, in one commit, and silence counts only while somebody listens;
 * - how a node does has one owner and one answer; nobody is kept from work while nobody else would do it;
 * - a node is restarted or given up by one arbiter alone, never while its jobs make progress or while files lie nowhere else, and each
 *   act is a row with its evidence;
 * - a node measures itself cheaply, and each crossing of a limit is told once, also over a restart;
 * - nothing is healthy for want of news: who is expected and has not done its work before its deadline is bad, and a judgement
 *   that nobody renews is worth nothing;
 * - the verdict names its reasons, lifts with its causes, and stops no work; what is told of unknown nodes does not count;
 * - an alert, its messages and the ack of its event are one commit: none is lost, and equal ones are one alert with a count;
 * - a message is sent at least once, under one idempotency key for all of its tries; a receiver that is dead holds up nobody,
 *   and none is sent more in a minute than it may be: the rest comes as a summary;
 * - silence is only counted while somebody listens, so that no restart is taken for a loss;
 * - a lock has one holder at a time, under a fence that only grows; it lapses only while somebody listens, and a ring of waits is refused;
 * - secrets of receivers are in no log, error or status.
 */

export type { Alert } from "./alerts/alert.ts";
export { type Alerts, createAlerts } from "./alerts/alerts.ts";
export { type Availability, createAvailability } from "./availability.ts";
export { type CoordinatorRow, dropCoordinator, noteCoordinators, storedCoordinators } from "./coordinator-rows.ts";
export { componentWork } from "./health/components.ts";
export {
  type Claimed,
  type ClusterPort,
  type ClusterSnapshot,
  type ClusterView,
  commonSeq,
  type EngineHealth,
  type ForgetLimits,
  forgettable,
  hasSameRows,
  LeadershipDomain,
  LeadershipRole,
  type Lease,
  leadersByDomain,
  type Mark,
  PRESENT_MS,
  type ReplicaPort,
  type RowsCheck,
  type SchemaSteps,
  type Term,
  type TermWriter,
  tellLeaseNews,
} from "./leadership/index.ts";
export { Lock, type LockOptions } from "./locks/lock.ts";
export { LockStore, type LockView } from "./locks/lock-store.ts";
export type { ClusterWork } from "./node-health/cluster-work.port.ts";
export { isIll } from "./node-health/conditions.ts";
export { HealthBook } from "./node-health/health-book.ts";
export type { NodeLine } from "./node-health/node-line.port.ts";
export { type NodeSigns, noSigns } from "./node-health/node-signs.port.ts";
export { nodeHealthReport } from "./node-health-report.ts";
export { nodeIdOf, nodeKeyOf } from "./nodes/identity.ts";
export type { NodeGate } from "./nodes/node-gate.ts";
export { findNode, healthyNodesOf, NodeHealthState, nodeHealthOf } from "./nodes/node-health.ts";
export { NodeRegistry } from "./nodes/node-registry.ts";
export { isGuest } from "./nodes/node-rows.ts";
export { settingDifferences } from "./nodes/node-settings.ts";
export type { NodeView } from "./nodes/node-view.ts";
export { nobodyReports, type ReachBook } from "./nodes/reach-book.ts";
export type { Refusals } from "./nodes/refusals.ts";
export { BODY_HASH_HEADER, NODE_HEADER, type NodeClaim, type SignedRequest, signRequest } from "./nodes/signature.ts";
export { timingOnTheWire } from "./nodes/timing.ts";
export { isDeprecated, PROTOCOL } from "./nodes/versions.ts";
export { type NodeDuties, noDuties } from "./recovery/node-duties.port.ts";
export { nobodysPower } from "./recovery/node-power.port.ts";
export { RecoveryBook } from "./recovery/recovery-book.ts";
export { repairWords } from "./recovery/rungs.ts";
export { createRecoveryConsole, type RecoveryConsole } from "./recovery-console.ts";
export { createDiskGauge } from "./resources/disk-gauge.ts";
export { processTree } from "./resources/process-tree.ts";
export { systemSampler, WORKER_PID_FILE } from "./resources/system-sampler.ts";
export { createUsageGauge, type IdleRequests } from "./resources/usage-gauge.ts";
export { type ClusterServices, createClusterServices } from "./services.ts";
export { nodeSettings } from "./settings.ts";
export { connectivityMonitorDaemon } from "./units/connectivity-monitor/connectivity-monitor.unit.ts";
export { idleResourceDaemon } from "./units/idle-resource/idle-resource.unit.ts";
export { resourceMonitorDaemon } from "./units/resource-monitor/resource-monitor.unit.ts";
export { clusterParts, clusterUnits } from "./units.ts";
export { judgedHealth, type SystemHealth } from "./views.ts";

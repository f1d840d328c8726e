import { definePart } from "../daemons/index.ts";
import { LEADER_LEASE, REPLICATED_LOG } from "./leadership/index.ts";
import { LOCK_STORE } from "./locks/lock-store.ts";
import type { ClusterServices } from "./services.ts";
import { alertManagerCoordinator } from "./units/alert-manager/alert-manager.unit.ts";
import { clusterMonitorDaemon } from "./units/cluster-monitor/cluster-monitor.unit.ts";
import { connectivityMonitorDaemon } from "./units/connectivity-monitor/connectivity-monitor.unit.ts";
import {
  errorCoordinator,
  healthManagerCoordinator,
  recoveryManager,
} from "./units/health-manager/health-manager.unit.ts";
import { idleResourceDaemon } from "./units/idle-resource/idle-resource.unit.ts";
import { leadershipCoordinator } from "./units/leadership-coordinator/leadership-coordinator.unit.ts";
import { membershipDaemon } from "./units/membership/membership.unit.ts";
import { nodeHealthDaemon } from "./units/node-health/node-health.unit.ts";
import { nodeRecoveryDaemon } from "./units/node-recovery/node-recovery.unit.ts";
import { resourceCoordinator } from "./units/resource-coordinator/resource-coordinator.unit.ts";
import { resourceMonitorDaemon } from "./units/resource-monitor/resource-monitor.unit.ts";

/** The units of this room, for `app` to put into its registry beside those of the other rooms. */
export const clusterUnits = (services: ClusterServices) =>
  [
    resourceMonitorDaemon(services),
    membershipDaemon(services),
    clusterMonitorDaemon(services),
    resourceCoordinator(services),
    idleResourceDaemon(services),
    healthManagerCoordinator(services),
    errorCoordinator,
    recoveryManager,
    alertManagerCoordinator(services),
    connectivityMonitorDaemon(services),
    nodeHealthDaemon(services),
    nodeRecoveryDaemon(services),
    leadershipCoordinator(services),
  ] as const;

/** Named locks: tells who waited in vain, and who would have waited for ever. */
const lockStorePart = definePart({
  name: LOCK_STORE,
  placement: "leader",
  emits: ["LOCK_TIMEOUT", "DEADLOCK_DETECTED"],
});

/** The one lease: who has it, how the one before lost it, and who acted without it. Told where several coordinators share a log. */
const leaderLeasePart = definePart({
  name: LEADER_LEASE,
  placement: "each-node",
  emits: [
    "LEADER_ELECTED",
    "LEADER_LOST",
    "LEADER_STEPDOWN",
    "EPOCH_ADVANCED",
    "SPLIT_BRAIN_DETECTED",
    "SPLIT_BRAIN_RESOLVED",
    "LEADER_HEARTBEAT_MISSING",
  ],
});

/** The shared log: how far each coordinator has come with it. */
const replicatedLogPart = definePart({
  name: REPLICATED_LOG,
  placement: "each-node",
  emits: ["STATE_PERSISTED"],
});

export const clusterParts = [lockStorePart, leaderLeasePart, replicatedLogPart] as const;

/** What this room says although no unit hears it yet. Each goes when its listener comes: the audit insists. */
const orphans = {
  CLUSTER_CAPACITY_CHANGED: "operators read it in 'ringrift events tail'; cluster_monitor is to hear it",
} as const;

/** What health and alerts hear, by the unit or part that is to say it and does not exist yet. A name goes when it does. */
const awaited = {
  auto_sync: ["SYNC_STALLED"],
  cluster_monitor: ["CLUSTER_STALL_DETECTED", "P2P_CLUSTER_HEALTHY", "P2P_CLUSTER_UNHEALTHY"],
  connectivity_monitor: ["NETWORK_ISOLATION_DETECTED", "P2P_HEALTH_RECOVERED"],
  leader_lease: ["LEADER_ELECTED", "LEADER_LOST", "SPLIT_BRAIN_DETECTED", "SPLIT_BRAIN_RESOLVED"],
  lock_store: ["DEADLOCK_DETECTED", "LOCK_TIMEOUT"],
  model_distribution_daemon: ["DISTRIBUTION_INCOMPLETE"],
  node_health: ["HEALTH_CHECK_FAILED", "HEALTH_CHECK_PASSED", "NODE_UNHEALTHY"],
  node_recovery: ["NODE_RECOVERED", "RECOVERY_COMPLETED", "RECOVERY_FAILED", "RECOVERY_INITIATED"],
  provisioner: ["BUDGET_ALERT", "BUDGET_EXCEEDED", "NODE_PROVISION_FAILED"],
  replication_daemon: ["REPLICATION_ALERT"],
  sync_coordinator: ["SYNC_FAILURE_CRITICAL"],
  sync_facade: ["PRIORITY_SYNC_FAILED"],
  transfer_verifier: ["SYNC_CHECKSUM_FAILED"],
} as const;

type AwaitedEvent = (typeof awaited)[keyof typeof awaited][number];

const deadSubscriptions = Object.fromEntries(
  Object.entries(awaited).flatMap(([emitter, events]) =>
    events.map((event) => [event, `${emitter} is to say it, and does not exist yet`]),
  ),
) as { readonly [N in AwaitedEvent]: string };

export const clusterExcuses = { orphans, deadSubscriptions } as const;

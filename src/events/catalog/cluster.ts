import {
  clusterId,
  count,
  flag,
  healthyNodes,
  leaderNodeId,
  nodeIds,
  oneOf,
  reason,
  stalledSeconds,
  totalNodes,
} from "../fields.ts";
import { defineEvents } from "../row.ts";

const states = ["healthy", "degraded", "unhealthy", "critical"] as const;
const quorum = flag("whether enough nodes answer to decide anything");

/** The cluster as a whole. */
export const cluster = defineEvents("cluster", {
  CLUSTER_STATUS_CHANGED: {
    about: "The overall state of the cluster changed.",
    class: "durable",
    orderKey: "cluster_id",
    provisional: true,
    payload: {
      cluster_id: clusterId,
      cluster_status: oneOf("state of the cluster", states),
      previous_cluster_status: oneOf("state of the cluster before", states),
      healthy_nodes: healthyNodes,
      total_nodes: totalNodes,
      reason: reason.optional(),
    },
  },
  CLUSTER_STALL_DETECTED: {
    about: "Nodes are up but make no progress.",
    class: "durable",
    orderKey: "cluster_id",
    provisional: true,
    payload: {
      cluster_id: clusterId,
      node_ids: nodeIds.describe("nodes that make no progress"),
      stalled_seconds: stalledSeconds,
      total_nodes: totalNodes.optional(),
    },
  },
  CLUSTER_CAPACITY_CHANGED: {
    about: "The cluster has more or fewer nodes or accelerators than before.",
    class: "durable",
    orderKey: "cluster_id",
    payload: {
      cluster_id: clusterId,
      healthy_nodes: healthyNodes,
      total_nodes: totalNodes,
      total_gpus: count("accelerators in the cluster"),
      free_gpus: count("accelerators without work"),
      reason: reason.optional(),
    },
  },
  P2P_CLUSTER_HEALTHY: {
    about: "Enough nodes are healthy; everything may run.",
    class: "durable",
    orderKey: "cluster_id",
    provisional: true,
    payload: {
      cluster_id: clusterId,
      healthy_nodes: healthyNodes,
      total_nodes: totalNodes,
      quorum: quorum.optional(),
      leader_node_id: leaderNodeId.optional(),
    },
  },
  P2P_CLUSTER_UNHEALTHY: {
    about: "Too few nodes are healthy; new work waits.",
    class: "durable",
    orderKey: "cluster_id",
    provisional: true,
    payload: {
      cluster_id: clusterId,
      healthy_nodes: healthyNodes,
      total_nodes: totalNodes,
      reason,
      quorum: quorum.optional(),
      node_ids: nodeIds.describe("nodes that are not healthy").optional(),
    },
  },
});

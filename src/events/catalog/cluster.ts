import { lazy } from "../../kernel/index.ts";
import { count, field, fields, flag, oneOf } from "../fields.ts";
import { defineEvents } from "../row.ts";

const states = ["healthy", "degraded", "unhealthy", "critical"] as const;
const quorum = lazy(() => flag("whether enough nodes answer to decide anything"));

/** The cluster as a whole. */
export const cluster = defineEvents("cluster", {
  CLUSTER_STATUS_CHANGED: {
    about: "The overall state of the cluster changed.",
    orderKey: "cluster_id",
    payload: () => ({
      ...fields("cluster_id", "healthy_nodes", "total_nodes", "reason?"),
      cluster_status: oneOf("state of the cluster", states),
      previous_cluster_status: oneOf("state of the cluster before", states),
    }),
  },
  CLUSTER_STALL_DETECTED: {
    about: "Nodes are up but make no progress.",
    orderKey: "cluster_id",
    payload: () => ({
      ...fields("cluster_id", "stalled_seconds", "total_nodes?", "reason?"),
      node_ids: field.node_ids.describe("nodes that make no progress"),
    }),
  },
  CLUSTER_CAPACITY_CHANGED: {
    about: "The cluster has more or fewer nodes or accelerators than before.",
    orderKey: "cluster_id",
    payload: () => ({
      ...fields("cluster_id", "healthy_nodes", "total_nodes", "reason?"),
      total_gpus: count("accelerators in the cluster"),
      free_gpus: count("accelerators without work"),
    }),
  },
  P2P_CLUSTER_HEALTHY: {
    about: "Enough nodes are healthy; everything may run.",
    orderKey: "cluster_id",
    payload: () => ({
      ...fields("cluster_id", "healthy_nodes", "total_nodes", "leader_node_id?"),
      quorum: quorum().optional(),
    }),
  },
  P2P_CLUSTER_UNHEALTHY: {
    about: "Too few nodes are healthy; new work waits.",
    orderKey: "cluster_id",
    payload: () => ({
      ...fields("cluster_id", "healthy_nodes", "total_nodes", "reason"),
      quorum: quorum().optional(),
      node_ids: field.node_ids.describe("nodes that are not healthy").optional(),
    }),
  },
});

import { count, field, fields, list, oneOf, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** The life of a node: rented, joined, working, failing, gone. */
export const nodes = defineEvents("nodes", {
  NODE_PROVISIONED: {
    about: "A machine was rented, and has joined as a node.",
    orderKey: "node_id",
    dedup: ["node_id"],
    payload: () => fields("node_id", "provider", "instance_id", "cost_per_hour_usd", "gpu_name?", "gpus?", "address?"),
  },
  NODE_PROVISION_FAILED: {
    about: "A machine could not be rented or made ready.",
    orderKey: "provider",
    payload: () => fields("provider", "error", "retryable", "gpu_name?", "instance_id?"),
  },
  HOST_ONLINE: {
    about: "A node joined the cluster or came back.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "address?", "provider?", "gpus?", "gpu_name?", "gpu_memory_gb?"),
      capabilities: list("kinds of work it can do", field.work_type).optional(),
      software_version: word("version that it runs").optional(),
    }),
  },
  HOST_OFFLINE: {
    about: "A node left the cluster or is no longer reachable.",
    orderKey: "node_id",
    payload: () => fields("node_id", "reason", "last_seen_at?"),
  },
  NODE_SUSPECT: {
    about: "A node is late with its heartbeat. It has a little time before it counts as dead.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "last_seen_at", "silent_seconds"),
      silent_nodes: count("nodes that are late with theirs at this moment, this one included").optional(),
    }),
  },
  P2P_NODE_DEAD: {
    about: "A node has been silent for too long and counts as dead.",
    orderKey: "node_id",
    payload: () => fields("node_id", "last_seen_at", "silent_seconds", "reason?"),
  },
  P2P_NODES_DEAD: {
    about: "Several nodes died at once, probably of one cause.",
    orderKey: "cluster_id",
    payload: () => ({
      ...fields("cluster_id", "reason?"),
      node_ids: field.node_ids.describe("nodes that died"),
    }),
  },
  NODE_UNHEALTHY: {
    about: "A node failed its health checks and gets no new work.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "reason", "consecutive_failures", "last_success_at?", "error?"),
      node_state: oneOf("state of the node", ["degraded", "unhealthy", "evicted"]),
    }),
  },
  NODE_RECOVERED: {
    about: "A node works again and may get work.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "downtime_seconds"),
      recovery_action: field.recovery_action.describe("step that helped"),
    }),
  },
  NODE_RETIRED: {
    about: "A node is taken out of scheduling for good.",
    orderKey: "node_id",
    payload: () => fields("node_id", "reason", "last_seen_at?", "uptime_seconds?"),
  },
  NODE_ACTIVATED: {
    about: "A node that had little to do was put to work.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "work_type", "config_key?", "reason?"),
      gpu_usage: field.gpu_usage.describe("share of the accelerators in use before (0 to 1)").optional(),
    }),
  },
  NODE_TERMINATED: {
    about: "A rented node was drained and given back.",
    orderKey: "node_id",
    dedup: ["node_id"],
    payload: () => fields("node_id", "provider", "reason", "instance_id?", "idle_seconds?", "cost_per_hour_usd?"),
  },
  NODE_INCOMPATIBLE_WITH_WORKLOAD: {
    about: "A node can run none of the configs that need work.",
    orderKey: "node_id",
    dedup: "content",
    payload: () => ({
      ...fields("node_id", "reason", "gpus?", "gpu_memory_gb?"),
      config_keys: field.config_keys.describe("configs that it cannot run"),
    }),
  },
  NODE_OVERLOADED: {
    about: "A node has more load than it can carry; jobs should move away.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "resource", "usage", "threshold"),
      jobs: field.jobs.describe("jobs that run there").optional(),
    }),
  },
  NODE_CAPACITY_UPDATED: {
    about: "A node tells what it has and how much of it is in use.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields(
        "node_id",
        "cpu_usage",
        "cpu_others?",
        "memory_usage",
        "disk_usage",
        "gpus?",
        "gpu_usage?",
        "gpu_memory_gb?",
        "gpu_memory_free_gb?",
      ),
      free_slots: count("tasks it could still take"),
      slots: count("tasks it can run at a time"),
    }),
  },
});

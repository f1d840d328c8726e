import { count, field, fields, list, seconds } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Who leads, under which number, and what was decided when two thought they did. */
export const leaderElection = defineEvents("leader_election", {
  LEADER_ELECTED: {
    about: "A node holds the lease and leads the cluster.",
    orderKey: "cluster_id",
    dedup: ["cluster_id", "epoch"],
    payload: () => ({
      ...fields("cluster_id", "epoch", "leader_node_id", "previous_leader_node_id?"),
      expires_at: field.expires_at.describe("end of the lease unless renewed, in Unix seconds").optional(),
    }),
  },
  LEADER_LOST: {
    about: "The leader's lease ran out; another node takes over.",
    orderKey: "cluster_id",
    dedup: ["cluster_id", "epoch"],
    payload: () => fields("cluster_id", "epoch", "previous_leader_node_id", "reason"),
  },
  LEADER_STEPDOWN: {
    about: "The leader hands over on purpose.",
    orderKey: "cluster_id",
    dedup: ["cluster_id", "epoch"],
    payload: () => fields("cluster_id", "epoch", "previous_leader_node_id", "reason"),
  },
  SPLIT_BRAIN_DETECTED: {
    about: "A node acted as the leader of this epoch while another led already; the log refused its entry.",
    orderKey: "cluster_id",
    dedup: ["cluster_id", "epoch"],
    payload: () => ({
      ...fields("cluster_id", "epoch", "severity"),
      claiming_node_ids: list("nodes that acted as the leader", field.node_id),
      refused_sequence: count("number of the entry that the log refused"),
      standing_epoch: count("leadership whose entry stands there instead"),
    }),
  },
  SPLIT_BRAIN_RESOLVED: {
    about: "The node whose entry was refused follows the one leader again.",
    orderKey: "cluster_id",
    dedup: ["cluster_id", "epoch"],
    payload: () => ({
      ...fields("cluster_id", "epoch", "leader_node_id", "duration_seconds?"),
      demoted_node_ids: list("nodes that laid down the lead", field.node_id),
    }),
  },
  LEADER_HEARTBEAT_MISSING: {
    about: "The leader is late in renewing its lease.",
    class: "volatile",
    orderKey: "cluster_id",
    payload: () => ({
      ...fields("cluster_id", "leader_node_id", "silent_seconds"),
      interval_seconds: seconds("time between renewals"),
    }),
  },
  STATE_PERSISTED: {
    about: "A node has the leader's commits on its own disk up to this one.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "epoch"),
      last_sequence: count("number of the last commit that is durable there"),
      pending_commits: count("commits that it still lacks").optional(),
    }),
  },
  EPOCH_ADVANCED: {
    about: "A new leadership began; writes of older ones are refused from now on.",
    orderKey: "cluster_id",
    dedup: ["cluster_id", "epoch"],
    payload: () => ({
      ...fields("cluster_id", "epoch", "leader_node_id?"),
      previous_epoch: count("number of the leadership before"),
    }),
  },
});

import { lazy } from "../../kernel/index.ts";
import { amount, count, field, fields, flag, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

const checkType = lazy(() => word("what was checked, as in ssh or gpu"));
const peers = lazy(() => count("peers that it reaches"));

/** Checks of nodes, and the steps taken when one fails. */
export const healthRecovery = defineEvents("health_recovery", {
  HEALTH_CHECK_PASSED: {
    about: "A node passed a health check.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id"),
      check_type: checkType(),
      latency_ms: amount("time to answer, in milliseconds").optional(),
    }),
  },
  HEALTH_CHECK_FAILED: {
    about: "A node failed a health check.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "reason", "consecutive_failures", "last_success_at?", "error?"),
      check_type: checkType(),
    }),
  },
  HEALTH_ALERT: {
    about: "The system has a problem that an operator should know.",
    orderKey: "component",
    dedup: "content",
    payload: () => fields("component", "severity", "message", "node_id?", "health_score?", "action?"),
  },
  RECOVERY_INITIATED: {
    about: "An automatic repair of a node began.",
    orderKey: "node_id",
    payload: () => fields("node_id", "recovery_action", "reason", "attempts"),
  },
  RECOVERY_COMPLETED: {
    about: "An automatic repair of a node worked.",
    orderKey: "node_id",
    payload: () => fields("node_id", "recovery_action", "duration_seconds", "attempts?"),
  },
  RECOVERY_FAILED: {
    about: "An automatic repair of a node did not work.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "recovery_action", "error", "attempts"),
      needs_operator: flag("whether the ladder is at its end and a human has to act"),
      next_recovery_action: field.recovery_action.describe("step that comes next").optional(),
    }),
  },
  P2P_RESTART_TRIGGERED: {
    about: "A node restarts its own link to the cluster. Wait for it before you judge it.",
    orderKey: "node_id",
    payload: () => fields("node_id", "reason", "consecutive_failures", "restarts?", "silent_seconds?"),
  },
  P2P_HEALTH_RECOVERED: {
    about: "The link of a node to the cluster works again.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "downtime_seconds", "leader_node_id?"),
      peers: peers().optional(),
    }),
  },
  NETWORK_ISOLATION_DETECTED: {
    about: "A node reaches far fewer peers than it should.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "silent_seconds?"),
      peers: peers(),
      expected_peers: count("peers that it should reach"),
    }),
  },
});

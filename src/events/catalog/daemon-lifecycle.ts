import {
  coordinatorName,
  count,
  daemonName,
  epoch,
  error,
  flag,
  health,
  healthScore,
  list,
  message,
  nodeId,
  oneOf,
  reason,
  restarts,
  seconds,
  some,
  text,
  uptimeSeconds,
} from "../fields.ts";
import { defineEvents } from "../row.ts";

const states = [
  "stopped",
  "starting",
  "running",
  "stopping",
  "failed",
  "restarting",
  "import_failed",
  "degraded",
] as const;
const daemon = { daemon_name: daemonName, node_id: nodeId.describe("node that runs it") };
const coordinator = { coordinator_name: coordinatorName, node_id: nodeId.describe("node that runs it") };

/** Units as their supervisor sees them: started, stopped, alive, failing. */
export const daemonLifecycle = defineEvents("daemon_lifecycle", {
  DAEMON_STARTED: {
    about: "A daemon runs.",
    class: "durable",
    orderKey: "daemon_name",
    payload: { ...daemon, pid: some("process"), restarts: restarts.optional() },
  },
  DAEMON_STOPPED: {
    about: "A daemon ended in order.",
    class: "durable",
    orderKey: "daemon_name",
    payload: { ...daemon, reason, uptime_seconds: uptimeSeconds.optional() },
  },
  DAEMON_STATUS_CHANGED: {
    about: "The state of a daemon changed, or its watchdog found it silent or stuck.",
    class: "durable",
    orderKey: "daemon_name",
    payload: {
      ...daemon,
      daemon_state: oneOf("state of the daemon", states),
      previous_daemon_state: oneOf("state of the daemon before", states),
      reason,
      error: error.optional(),
    },
  },
  DAEMON_CRASH_LOOP_DETECTED: {
    about: "A daemon crashes again and again and will soon be given up.",
    class: "durable",
    orderKey: "daemon_name",
    payload: {
      ...daemon,
      restarts,
      window_seconds: seconds("time in which they happened"),
      max_restarts: count("restarts allowed"),
      error: error.optional(),
    },
  },
  DAEMON_PERMANENTLY_FAILED: {
    about: "A daemon used up its restarts, or hung at shutdown, and is given up until somebody resets it.",
    class: "durable",
    orderKey: "daemon_name",
    payload: { ...daemon, restarts, reason, error: error.optional() },
  },
  COORDINATOR_HEARTBEAT: {
    about: "A unit is alive, and this is what it has handled so far.",
    class: "volatile",
    orderKey: "coordinator_name",
    payload: {
      ...coordinator,
      health,
      handled_events: count("events handled since it started"),
      failed_events: count("events that failed since it started"),
      message: message.optional(),
      paused: text("why it is not to run at the moment").optional(),
      busy_seconds: seconds("how long its oldest piece of work has been running").optional(),
      overdue_seconds: seconds("how long its loop is past its time").optional(),
      uptime_seconds: uptimeSeconds.optional(),
    },
  },
  COORDINATOR_HEALTHY: {
    about: "A coordinator is up and all its subscriptions stand.",
    class: "durable",
    orderKey: "coordinator_name",
    payload: {
      ...coordinator,
      subscriptions: count("events it listens to").optional(),
      health_score: healthScore.optional(),
      uptime_seconds: uptimeSeconds.optional(),
    },
  },
  COORDINATOR_HEALTH_DEGRADED: {
    about: "A coordinator works, but not as it should.",
    class: "durable",
    orderKey: "coordinator_name",
    payload: { ...coordinator, reason, health_score: healthScore.optional() },
  },
  COORDINATOR_UNHEALTHY: {
    about: "A coordinator no longer does its work.",
    class: "durable",
    orderKey: "coordinator_name",
    payload: { ...coordinator, reason, error: error.optional(), health_score: healthScore.optional() },
  },
  COORDINATOR_INIT_FAILED: {
    about: "A coordinator could not start.",
    class: "durable",
    orderKey: "coordinator_name",
    payload: { ...coordinator, error, layer: some("layer of the start that failed").optional() },
  },
  COORDINATOR_SHUTDOWN: {
    about: "A coordinator stops in order; its silence from now on is no loss.",
    class: "durable",
    orderKey: "coordinator_name",
    payload: { ...coordinator, reason, remaining_tasks: count("tasks it leaves behind").optional() },
  },
  STARTUP_STATE_VALIDATED: {
    about: "A node checked its stored state at start and says whether it is fit to serve and to lead.",
    class: "durable",
    orderKey: "node_id",
    payload: {
      node_id: nodeId,
      passed: flag("whether it is fit"),
      problems: list("what is wrong, if anything", text("problem")),
      epoch: epoch.optional(),
    },
  },
});

import { lazy } from "../../kernel/index.ts";
import { count, field, fields, flag, list, oneOf, seconds, some, text } from "../fields.ts";
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
const daemon = lazy(() => ({ ...fields("daemon_name"), node_id: field.node_id.describe("node that runs it") }));
const coordinator = lazy(() => ({
  ...fields("coordinator_name"),
  node_id: field.node_id.describe("node that runs it"),
}));

/** Units as their supervisor sees them: started, stopped, alive, failing. */
export const daemonLifecycle = defineEvents("daemon_lifecycle", {
  DAEMON_STARTED: {
    about: "A daemon has started.",
    orderKey: "daemon_name",
    payload: () => ({
      ...fields("restarts?"),
      ...daemon(),
      pid: some("process"),
    }),
  },
  DAEMON_STOPPED: {
    about: "A daemon stopped as planned.",
    orderKey: "daemon_name",
    payload: () => ({
      ...fields("reason", "uptime_seconds?"),
      ...daemon(),
    }),
  },
  DAEMON_STATUS_CHANGED: {
    about: "The state of a daemon changed, or its watchdog found it silent or stuck.",
    orderKey: "daemon_name",
    payload: () => ({
      ...fields("reason", "error?"),
      ...daemon(),
      daemon_state: oneOf("state of the daemon", states),
      previous_daemon_state: oneOf("state of the daemon before", states),
    }),
  },
  DAEMON_CRASH_LOOP_DETECTED: {
    about: "A daemon crashes again and again. The supervisor will soon stop restarting it.",
    orderKey: "daemon_name",
    payload: () => ({
      ...fields("restarts", "error?"),
      ...daemon(),
      window_seconds: seconds("time in which they happened"),
      max_restarts: count("restarts allowed"),
    }),
  },
  DAEMON_PERMANENTLY_FAILED: {
    about:
      "A daemon used up its restarts, or hung at shutdown. The supervisor does not start it again until somebody resets it.",
    orderKey: "daemon_name",
    payload: () => ({
      ...fields("restarts", "reason", "error?"),
      ...daemon(),
    }),
  },
  COORDINATOR_HEARTBEAT: {
    about: "A unit is alive, with what it has handled so far.",
    class: "volatile",
    orderKey: "coordinator_name",
    payload: () => ({
      ...fields("health", "message?", "uptime_seconds?"),
      ...coordinator(),
      handled_events: count("events handled since it started"),
      failed_events: count("events that failed since it started"),
      paused: text("why it is not to run at the moment").optional(),
      busy_seconds: seconds("how long its oldest piece of work has been running").optional(),
      overdue_seconds: seconds("how long its loop is past its time").optional(),
    }),
  },
  COORDINATOR_HEALTHY: {
    about: "A coordinator is ready, with all its subscriptions.",
    orderKey: "coordinator_name",
    payload: () => ({
      ...fields("health_score?", "uptime_seconds?"),
      ...coordinator(),
      subscriptions: count("events it listens to").optional(),
    }),
  },
  COORDINATOR_HEALTH_DEGRADED: {
    about: "A coordinator works, but not as it should.",
    orderKey: "coordinator_name",
    payload: () => ({
      ...fields("reason", "health_score?"),
      ...coordinator(),
    }),
  },
  COORDINATOR_UNHEALTHY: {
    about: "A coordinator no longer does its work.",
    orderKey: "coordinator_name",
    payload: () => ({
      ...fields("reason", "error?", "health_score?"),
      ...coordinator(),
    }),
  },
  COORDINATOR_INIT_FAILED: {
    about: "A coordinator could not start.",
    orderKey: "coordinator_name",
    payload: () => ({
      ...fields("error"),
      ...coordinator(),
      layer: some("layer of the start that failed").optional(),
    }),
  },
  COORDINATOR_SHUTDOWN: {
    about: "A coordinator stops as planned; its silence from now on is expected.",
    orderKey: "coordinator_name",
    payload: () => ({
      ...fields("reason"),
      ...coordinator(),
      remaining_tasks: count("tasks it leaves behind").optional(),
    }),
  },
  STARTUP_STATE_VALIDATED: {
    about: "A node checked its stored state at start and says whether it is fit to serve and to lead.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "epoch?"),
      passed: flag("whether it is fit"),
      problems: list("what is wrong, if anything", text("problem")),
    }),
  },
});

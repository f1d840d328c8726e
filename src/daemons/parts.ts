import { definePart } from "./unit/shape.ts";

/** The router's own words: on a delivery whose tries are spent. */
export const routerPart = definePart({ name: "router", emits: ["HANDLER_FAILED", "HANDLER_TIMEOUT"] });

/** The runtime's own words: that a unit is alive, and that its loop failed. */
export const unitRuntimePart = definePart({ name: "unit_runtime", emits: ["COORDINATOR_HEARTBEAT", "ERROR"] });

/** The supervisor's own words: what it did to a daemon, and that too many fall at once. */
export const daemonManagerPart = definePart({
  name: "daemon_manager",
  emits: [
    "DAEMON_STARTED",
    "DAEMON_STOPPED",
    "DAEMON_STATUS_CHANGED",
    "DAEMON_PERMANENTLY_FAILED",
    "DAEMON_CRASH_LOOP_DETECTED",
    "ERROR",
  ],
});

/** What the bring-up of a process says of its units. */
export const bootstrapPart = definePart({
  name: "bootstrap",
  emits: ["COORDINATOR_HEALTHY", "COORDINATOR_INIT_FAILED", "COORDINATOR_SHUTDOWN", "STARTUP_STATE_VALIDATED"],
});

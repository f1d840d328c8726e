import { definePart } from "./unit.ts";

/** The router's own words: on a delivery whose tries are spent. */
export const routerPart = definePart({ name: "router", emits: ["HANDLER_FAILED", "HANDLER_TIMEOUT"] });

/** The runtime's own words: that a unit is alive, and that its loop failed. */
export const unitRuntimePart = definePart({ name: "unit_runtime", emits: ["COORDINATOR_HEARTBEAT", "ERROR"] });

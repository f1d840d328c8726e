import { lazy } from "../../kernel/index.ts";
import { amount, count, field, fields, flag, oneOf, seconds } from "../fields.ts";
import { defineEvents } from "../row.ts";

const freeSlots = lazy(() => count("jobs that it could take at once"));
const recommendedConfigKey = lazy(() => field.config_key.describe("config that would fit"));
const capacity = lazy(() => ({
  ...fields("scope", "provider?"),
  gpus: field.gpus.describe("accelerators there are"),
  required_gpus: count("accelerators there should be"),
}));
const budget = lazy(() => ({
  scope: field.scope.describe("budget that is meant"),
  period: oneOf("time that the limit is for", ["hour", "day", "month"]),
  spent_usd: amount("money spent in the period, in US dollars"),
  limit_usd: amount("limit of the period, in US dollars"),
}));

/** One shape for all pressure: it says how high it is on both scales, how high it was, and what it was judged by. */
const pressure = lazy(() => ({
  ...fields("scope", "reason", "queue_depth", "node_id?"),
  level: field.level.describe("pressure on the scale of queues: none, soft, hard, stop"),
  resource_level: field.level.describe("the same on the scale of resources: none, low, medium, high, critical"),
  previous_level: field.level.describe("pressure before, on the scale of queues"),
  rate_multiplier: field.rate_multiplier.describe("factor on what producers may make"),
  waited_seconds: seconds("how long the oldest item has waited"),
  duration_seconds: field.duration_seconds.describe("how long the pressure has lasted, in seconds").optional(),
}));

/** What is short, what is idle, what it costs, and who has to slow down. */
export const resources = defineEvents("resources", {
  BACKPRESSURE_ACTIVATED: {
    about: "More work comes in than goes out; producers have to slow down.",
    orderKey: "scope",
    payload: pressure,
  },
  BACKPRESSURE_RELEASED: {
    about: "Pressure went down; producers may go faster again.",
    orderKey: "scope",
    payload: pressure,
  },
  RESOURCE_CONSTRAINT: {
    about: "A resource of a node runs short.",
    orderKey: "node_id",
    payload: () => fields("node_id", "resource", "level", "usage", "threshold"),
  },
  RESOURCE_CONSTRAINT_DETECTED: {
    about: "A resource of a node hit its hard limit; work that needs it may pause.",
    orderKey: "node_id",
    payload: () => fields("node_id", "resource", "usage", "threshold", "action?"),
  },
  MEMORY_PRESSURE: {
    about: "The memory of a node is nearly full; nothing new should start there.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "usage", "threshold", "recommendation?"),
      memory_kind: oneOf("memory that is meant", ["ram", "gpu"]),
    }),
  },
  DISK_SPACE_LOW: {
    about: "A disk of a node is nearly full.",
    orderKey: "node_id",
    dedup: ["node_id", "level"],
    payload: () => ({
      ...fields("node_id", "level", "usage", "threshold"),
      free_gb: amount("free space, in GB"),
    }),
  },
  DISK_CLEANUP_TRIGGERED: {
    about: "Files were deleted on a node, with the list of them.",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "reason", "duration_seconds?"),
      bytes_freed: count("bytes freed"),
      artifacts: field.artifacts.describe("artifacts that were deleted"),
      artifact_hashes: field.artifact_hashes.describe("artifacts that were deleted").optional(),
    }),
  },
  IDLE_RESOURCE_DETECTED: {
    about: "Processors or accelerators of a node have nothing to do, and its worker has room for jobs.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "gpu_usage?", "gpu_memory_gb?", "idle_seconds"),
      free_slots: freeSlots(),
      recommended_config_key: recommendedConfigKey().optional(),
    }),
  },
  IDLE_STATE_BROADCAST: {
    about: "A node tells how idle it is.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields("node_id", "gpu_usage?", "idle_seconds", "gpu_memory_gb?", "gpu_memory_free_gb?"),
      idle: flag("whether it could take work now"),
      running_tasks: count("tasks under way"),
      free_slots: freeSlots(),
      recommended_config_key: recommendedConfigKey().optional(),
    }),
  },
  IDLE_STATE_REQUEST: {
    about: "A node is asked how idle it is.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields("reason?"),
      node_id: field.node_id.describe("node that is asked"),
    }),
  },
  CAPACITY_LOW: {
    about: "There are fewer accelerators than the cluster should have.",
    orderKey: "scope",
    payload: capacity,
  },
  CAPACITY_RESTORED: {
    about: "There are enough accelerators again.",
    orderKey: "scope",
    payload: capacity,
  },
  BUDGET_ALERT: {
    about: "Spending comes close to its limit.",
    orderKey: "scope",
    dedup: "content",
    payload: budget,
  },
  BUDGET_EXCEEDED: {
    about: "Spending is over its limit; nothing more is rented.",
    orderKey: "scope",
    dedup: "content",
    payload: budget,
  },
});

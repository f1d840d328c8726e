import { count, field, fields, numbers, seconds } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Whether the loop moves, and the measurements that tell. */
export const progress = defineEvents("progress", {
  METRICS_UPDATED: {
    about: "A node has new samples of its measurements.",
    class: "volatile",
    orderKey: "node_id",
    payload: () => ({
      ...fields("config_key?"),
      node_id: field.node_id.describe("node that measured"),
      metrics: numbers("values, by measurement"),
    }),
  },
  PIPELINE_STAGE_ENTERED: {
    about: "A config entered a stage. The unit of that stage looks at its rows at once, and not only at its next tick.",
    class: "durable",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "pipeline_stage"),
      iteration: count("iteration of the config"),
      attempts: field.attempts.describe("try of the stage, from 1"),
    }),
  },
  PROGRESS_STALL_DETECTED: {
    about: "A stage of a config missed its deadline, or its strength no longer grows.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "pipeline_stage", "stalled_seconds", "elo_per_day?", "action?"),
      deadline_seconds: seconds("time that was allowed"),
    }),
  },
  PROGRESS_RECOVERED: {
    about: "A config that had stalled makes progress again.",
    orderKey: "config_key",
    payload: () => fields("config_key", "pipeline_stage", "stalled_seconds", "elo_per_day?"),
  },
});

import {
  action,
  attempts,
  configKey,
  count,
  eloPerDay,
  nodeId,
  numbers,
  pipelineStage,
  seconds,
  stalledSeconds,
} from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Whether the loop moves, and the measurements that tell. */
export const progress = defineEvents("progress", {
  METRICS_UPDATED: {
    about: "A node has new samples of its measurements.",
    class: "volatile",
    orderKey: "node_id",
    payload: {
      node_id: nodeId.describe("node that measured"),
      metrics: numbers("values, by measurement"),
      config_key: configKey.optional(),
    },
  },
  PIPELINE_STAGE_ENTERED: {
    about: "A config entered a stage; whoever works on that stage looks at the rows. It only saves them the wait.",
    class: "process",
    orderKey: "config_key",
    payload: {
      config_key: configKey,
      pipeline_stage: pipelineStage,
      iteration: count("iteration of the config"),
      attempts: attempts.describe("try of the stage, from 1"),
    },
  },
  PROGRESS_STALL_DETECTED: {
    about: "A stage of a config missed its deadline, or its strength no longer grows.",
    class: "durable",
    orderKey: "config_key",
    payload: {
      config_key: configKey,
      pipeline_stage: pipelineStage,
      stalled_seconds: stalledSeconds,
      deadline_seconds: seconds("time that was allowed"),
      elo_per_day: eloPerDay.optional(),
      action: action.optional(),
    },
  },
  PROGRESS_RECOVERED: {
    about: "A config that had stalled moves again.",
    class: "durable",
    orderKey: "config_key",
    payload: {
      config_key: configKey,
      pipeline_stage: pipelineStage,
      stalled_seconds: stalledSeconds,
      elo_per_day: eloPerDay.optional(),
    },
  },
});

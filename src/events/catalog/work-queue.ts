import {
  artifactHash,
  attempts,
  configKey,
  durationSeconds,
  error,
  errorCode,
  expiresAt,
  flag,
  list,
  nodeId,
  priority,
  reason,
  requestedBy,
  result,
  some,
  taskId,
  timeoutSeconds,
  unixTime,
  workId,
  workType,
} from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Every item of the queue says what it is. */
const item = { work_id: workId, work_type: workType, config_key: configKey.optional() };
const holder = nodeId.describe("node that holds the item");

/** The life of one item of the work queue; each change and its event commit together. */
export const workQueue = defineEvents("work_queue", {
  WORK_QUEUED: {
    about: "An item was added to the work queue.",
    class: "durable",
    orderKey: "work_id",
    payload: {
      ...item,
      priority,
      depends_on: list("items that must be done first", workId).optional(),
      timeout_seconds: timeoutSeconds.optional(),
      requested_by: requestedBy.optional(),
    },
  },
  WORK_CLAIMED: {
    about: "A node took an item and holds its lease.",
    class: "durable",
    orderKey: "work_id",
    payload: {
      ...item,
      node_id: holder,
      attempts,
      fence: some("number of the lease; it grows with every claim of the item"),
      expires_at: expiresAt.describe("end of the lease, in Unix seconds"),
    },
  },
  WORK_STARTED: {
    about: "A node began to work on an item.",
    class: "durable",
    orderKey: "work_id",
    payload: { ...item, node_id: holder, attempts, task_id: taskId.optional() },
  },
  WORK_COMPLETED: {
    about: "An item is done, and this is its result.",
    class: "durable",
    orderKey: "work_id",
    payload: {
      ...item,
      node_id: holder,
      attempts,
      duration_seconds: durationSeconds,
      result,
      artifact_hash: artifactHash.describe("what was made, if it is a file").optional(),
    },
  },
  WORK_FAILED: {
    about: "An item failed for good; no try is left.",
    class: "durable",
    orderKey: "work_id",
    payload: {
      ...item,
      error,
      attempts: attempts.optional(),
      error_code: errorCode.optional(),
      node_id: holder.optional(),
      duration_seconds: durationSeconds.optional(),
    },
  },
  WORK_RETRY: {
    about: "An item failed and will be tried again.",
    class: "durable",
    orderKey: "work_id",
    payload: {
      ...item,
      error,
      attempts,
      max_attempts: some("tries allowed"),
      retry_at: unixTime("when it may be claimed again").optional(),
      node_id: holder.optional(),
    },
  },
  WORK_TIMEOUT: {
    about: "An item took longer than it may, and its lease ended.",
    class: "durable",
    orderKey: "work_id",
    payload: {
      ...item,
      node_id: holder,
      attempts,
      timeout_seconds: timeoutSeconds,
      will_retry: flag("whether it is tried again"),
    },
  },
  WORK_CANCELLED: {
    about: "An item was taken back before it was done.",
    class: "durable",
    orderKey: "work_id",
    payload: { ...item, reason, node_id: holder.optional(), requested_by: requestedBy.optional() },
  },
  JOB_PREEMPTED: {
    about: "A running job has to stop for one that matters more.",
    class: "durable",
    orderKey: "work_id",
    payload: {
      ...item,
      node_id: holder,
      preempting_work_id: workId.describe("item that takes its place").optional(),
      reason: reason.optional(),
      duration_seconds: durationSeconds.describe("how long it had run, in seconds").optional(),
    },
  },
  CPU_PIPELINE_JOB_COMPLETED: {
    about: "A job that needs no accelerator is done on a node that has none.",
    class: "durable",
    orderKey: "work_id",
    dedup: ["work_id"],
    provisional: true,
    payload: {
      ...item,
      node_id: holder,
      duration_seconds: durationSeconds,
      result: result.optional(),
      artifact_hash: artifactHash.describe("what was made, if it is a file").optional(),
    },
  },
});

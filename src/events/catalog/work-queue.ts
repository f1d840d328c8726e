import { lazy } from "../../kernel/index.ts";
import { field, fields, flag, list, some, unixTime } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Every item of the queue says what it is. */
const item = lazy(() => fields("work_id", "work_type", "config_key?"));
const holder = lazy(() => field.node_id.describe("node that holds the item"));

/** The life of one item of the work queue; each change and its event commit together. */
export const workQueue = defineEvents("work_queue", {
  WORK_QUEUED: {
    about: "An item was added to the work queue.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("priority", "timeout_seconds?", "requested_by?"),
      ...item(),
      depends_on: list("items that must be done first", field.work_id).optional(),
    }),
  },
  WORK_CLAIMED: {
    about: "A node took an item and holds its lease.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("attempts"),
      ...item(),
      node_id: holder(),
      fence: some("number of the lease; it grows with every claim of the item"),
      expires_at: field.expires_at.describe("end of the lease, in Unix seconds"),
    }),
  },
  WORK_STARTED: {
    about: "A node began to work on an item.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("attempts", "task_id?"),
      ...item(),
      node_id: holder(),
    }),
  },
  WORK_COMPLETED: {
    about: "An item is done, with its result.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("attempts", "duration_seconds", "result"),
      ...item(),
      node_id: holder(),
      artifact_hash: field.artifact_hash.describe("what was made, if it is a file").optional(),
    }),
  },
  WORK_FAILED: {
    about: "An item failed for good; no try is left.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("error", "attempts?", "error_code?", "duration_seconds?"),
      ...item(),
      node_id: holder().optional(),
    }),
  },
  WORK_RETRY: {
    about: "An item failed and will be tried again.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("error", "attempts"),
      ...item(),
      max_attempts: some("tries allowed"),
      retry_at: unixTime("when it may be claimed again").optional(),
      node_id: holder().optional(),
    }),
  },
  WORK_TIMEOUT: {
    about: "An item took longer than it may, and its lease ended.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("attempts", "timeout_seconds"),
      ...item(),
      node_id: holder(),
      will_retry: flag("whether it is tried again"),
    }),
  },
  WORK_CANCELLED: {
    about: "An item was taken back before it was done.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("reason", "requested_by?"),
      ...item(),
      node_id: holder().optional(),
    }),
  },
  JOB_PREEMPTED: {
    about: "A running job has to stop for one that matters more.",
    orderKey: "work_id",
    payload: () => ({
      ...fields("reason?"),
      ...item(),
      node_id: holder(),
      preempting_work_id: field.work_id.describe("item that takes its place").optional(),
      duration_seconds: field.duration_seconds.describe("how long it had run, in seconds").optional(),
    }),
  },
  CPU_PIPELINE_JOB_COMPLETED: {
    about: "A job that needs no accelerator is done on a node that has none.",
    orderKey: "work_id",
    dedup: ["work_id"],
    payload: () => ({
      ...fields("duration_seconds", "result?"),
      ...item(),
      node_id: holder(),
      artifact_hash: field.artifact_hash.describe("what was made, if it is a file").optional(),
    }),
  },
});

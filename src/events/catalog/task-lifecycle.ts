import {
  configKey,
  durationSeconds,
  error,
  errorCode,
  games,
  lastSeenAt,
  nodeId,
  reason,
  requestedBy,
  result,
  retryable,
  share,
  silentSeconds,
  some,
  taskId,
  workId,
  workType,
} from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Every task says what runs where. */
const task = {
  task_id: taskId,
  node_id: nodeId.describe("node that runs the task"),
  work_type: workType,
  work_id: workId.optional(),
  config_key: configKey.optional(),
};

/** The life of a running process. */
export const taskLifecycle = defineEvents("task_lifecycle", {
  TASK_SPAWNED: {
    about: "A task started on a node.",
    class: "durable",
    orderKey: "task_id",
    critical: true,
    payload: { ...task, pid: some("process").optional() },
  },
  TASK_HEARTBEAT: {
    about: "A task lives, and this is how far it is.",
    class: "volatile",
    orderKey: "task_id",
    payload: {
      ...task,
      progress: share("share of the task that is done").optional(),
      duration_seconds: durationSeconds.describe("how long it has run, in seconds").optional(),
      games: games.describe("games played so far").optional(),
    },
  },
  TASK_COMPLETED: {
    about: "A task ended well.",
    class: "durable",
    orderKey: "task_id",
    legacy: ["TASK_COMPLETE"],
    critical: true,
    payload: { ...task, duration_seconds: durationSeconds, result: result.optional() },
  },
  TASK_FAILED: {
    about: "A task ended with an error.",
    class: "durable",
    orderKey: "task_id",
    critical: true,
    payload: {
      ...task,
      error,
      retryable,
      error_code: errorCode.optional(),
      duration_seconds: durationSeconds.optional(),
    },
  },
  TASK_ORPHANED: {
    about: "A task lost its node or its sign of life; its work comes back to the queue.",
    class: "durable",
    orderKey: "task_id",
    dedup: ["task_id"],
    payload: { ...task, reason, last_seen_at: lastSeenAt, silent_seconds: silentSeconds.optional() },
  },
  TASK_CANCELLED: {
    about: "A task was stopped because nobody wants its result any longer.",
    class: "durable",
    orderKey: "task_id",
    payload: { ...task, reason, requested_by: requestedBy.optional() },
  },
  TASK_ABANDONED: {
    about: "A node gave a task up on purpose; its work comes back to the queue.",
    class: "durable",
    orderKey: "task_id",
    payload: { ...task, reason },
  },
});

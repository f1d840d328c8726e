import { lazy } from "../../kernel/index.ts";
import { field, fields, share, some } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Every task says what runs where. */
const task = lazy(() => ({
  ...fields("task_id", "work_type", "work_id?", "config_key?"),
  node_id: field.node_id.describe("node that runs the task"),
}));

/** The life of a running process. */
export const taskLifecycle = defineEvents("task_lifecycle", {
  TASK_SPAWNED: {
    about: "A task started on a node.",
    orderKey: "task_id",
    critical: true,
    payload: () => ({ ...task(), pid: some("process").optional() }),
  },
  TASK_HEARTBEAT: {
    about: "A task is alive, with its progress.",
    class: "volatile",
    orderKey: "task_id",
    payload: () => ({
      ...task(),
      progress: share("share of the task that is done").optional(),
      duration_seconds: field.duration_seconds.describe("how long it has run, in seconds").optional(),
      games: field.games.describe("games played so far").optional(),
    }),
  },
  TASK_COMPLETED: {
    about: "A task ended well.",
    orderKey: "task_id",
    legacy: ["TASK_COMPLETE"],
    critical: true,
    payload: () => ({
      ...fields("duration_seconds", "result?"),
      ...task(),
    }),
  },
  TASK_FAILED: {
    about: "A task ended with an error.",
    orderKey: "task_id",
    critical: true,
    payload: () => ({
      ...fields("error", "retryable", "error_code?", "duration_seconds?"),
      ...task(),
    }),
  },
  TASK_ORPHANED: {
    about: "A task lost its node, or its heartbeat stopped. Its work returns to the queue.",
    orderKey: "task_id",
    dedup: ["task_id", "last_seen_at"],
    payload: () => ({
      ...fields("reason", "last_seen_at", "silent_seconds?"),
      ...task(),
    }),
  },
  TASK_CANCELLED: {
    about: "A task was stopped because nobody wants its result any longer.",
    orderKey: "task_id",
    payload: () => ({
      ...fields("reason", "requested_by?"),
      ...task(),
    }),
  },
  TASK_ABANDONED: {
    about: "A node gave a task up on purpose. Its work returns to the queue.",
    orderKey: "task_id",
    payload: () => ({
      ...fields("reason"),
      ...task(),
    }),
  },
});

import type { EventName } from "../../events/index.ts";
import { assert } from "../../kernel/index.ts";

/** Where a job can be. */
export const JOB_STATES = [
  "blocked",
  "delayed",
  "pending",
  "claimed",
  "running",
  "completed",
  "failed",
  "cancelled",
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** In which order jobs are listed. */
export const JOB_ORDERS = ["oldest", "newest", "urgent"] as const;
export type JobOrder = (typeof JOB_ORDERS)[number];

export const isFinished = (state: JobState): boolean =>
  state === "completed" || state === "failed" || state === "cancelled";
/** Somebody has its lease. */
export const isHeld = (state: JobState): boolean => state === "claimed" || state === "running";

/** What moves a job. */
export const JOB_ACTIONS = [
  "add",
  "unblock",
  "due",
  "claim",
  "start",
  "beat",
  "revive",
  "complete",
  "late",
  "overtake",
  "fail",
  "release",
  "preempt",
  "evict",
  "silent",
  "stuck",
  "expire",
  "cancel",
  "lapse",
  "dependency",
  "retry",
] as const;
export type JobAction = (typeof JOB_ACTIONS)[number];

export interface Transition {
  readonly from: JobState | null;
  readonly action: JobAction;
  readonly to: JobState;
  readonly when: string;
  /** What is said in the same commit. */
  readonly emits: readonly EventName[];
}

const one = (
  from: JobState | null,
  action: JobAction,
  to: JobState,
  when: string,
  ...emits: EventName[]
): Transition => ({ from, action, to, when, emits });

/** The same for a job that was only claimed and for one that runs; what runs is a task too, and its end is said as well. */
const held = (
  action: JobAction,
  to: JobState | "same",
  when: string,
  says: readonly EventName[],
  ofTask: readonly EventName[],
): Transition[] => [
  one("claimed", action, to === "same" ? "claimed" : to, when, ...says),
  one("running", action, to === "same" ? "running" : to, when, ...ofTask, ...says),
];

const queued = (action: JobAction, to: JobState, when: string, ...says: EventName[]): Transition[] =>
  (["pending", "delayed", "blocked"] as const).map((from) => one(from, action, to, when, ...says));

/** The whole life of a job, as data: the code refuses every other step, and the picture in the docs is printed from it. */
export const transitions: readonly Transition[] = [
  one(null, "add", "pending", "nothing to wait for", "WORK_QUEUED"),
  one(null, "add", "blocked", "a dependency is not completed", "WORK_QUEUED"),
  one("blocked", "unblock", "pending", "the last dependency completed"),
  one("blocked", "dependency", "failed", "a dependency failed or was cancelled", "WORK_FAILED"),
  one("delayed", "due", "pending", "the backoff is over"),
  one("pending", "claim", "claimed", "a fitting node asked", "WORK_CLAIMED"),
  one("claimed", "start", "running", "the holder began", "WORK_STARTED", "TASK_SPAWNED"),
  ...held("beat", "same", "the holder lives", [], ["TASK_HEARTBEAT"]),
  ...(["pending", "delayed"] as const).flatMap((from) => [
    one(from, "revive", "claimed", "its holder is heard again, and nobody had it since"),
    one(from, "revive", "running", "its holder is heard again, and nobody had it since", "TASK_SPAWNED"),
  ]),
  ...held("complete", "completed", "the evidence is complete", ["WORK_COMPLETED"], ["TASK_COMPLETED"]),
  one("pending", "late", "completed", "its lease lapsed, nobody had it since, and it was done", "WORK_COMPLETED"),
  one("delayed", "late", "completed", "its lease lapsed, nobody had it since, and it was done", "WORK_COMPLETED"),
  one("failed", "late", "completed", "its last holder was taken for gone, and it was done", "WORK_COMPLETED"),
  ...(["pending", "delayed", "claimed", "failed"] as const).map((from) =>
    one(from, "overtake", "completed", "an earlier holder was the first with its result", "WORK_COMPLETED"),
  ),
  one(
    "running",
    "overtake",
    "completed",
    "an earlier holder was the first with its result",
    "TASK_CANCELLED",
    "WORK_COMPLETED",
  ),
  ...held("fail", "delayed", "a try is left", ["WORK_RETRY"], ["TASK_FAILED"]),
  ...held("fail", "failed", "no try is left, or none would help", ["WORK_FAILED"], ["TASK_FAILED"]),
  ...held("release", "pending", "the holder gives it back", ["TASK_ABANDONED"], []),
  ...held("release", "failed", "it was given back too often", ["TASK_ABANDONED", "WORK_FAILED"], []),
  ...held("preempt", "same", "it shall make room", ["JOB_PREEMPTED"], []),
  ...held("evict", "pending", "its node is lost", ["TASK_ORPHANED"], []),
  ...held("evict", "failed", "it lost its node too often", ["TASK_ORPHANED", "WORK_FAILED"], []),
  one("claimed", "silent", "pending", "the holder never began", "TASK_ORPHANED"),
  one("claimed", "silent", "failed", "too many holders never began", "TASK_ORPHANED", "WORK_FAILED"),
  one("running", "silent", "pending", "it began with its claim, and was never heard", "TASK_ORPHANED"),
  one("running", "silent", "delayed", "no sign of life; a try is left", "TASK_ORPHANED", "WORK_RETRY"),
  one("running", "silent", "failed", "no sign of life; no try is left", "TASK_ORPHANED", "WORK_FAILED"),
  ...held("stuck", "pending", "the holder lives, and the job does not go on", ["TASK_ORPHANED"], []),
  ...held("stuck", "failed", "it did not go on with too many holders", ["TASK_ORPHANED", "WORK_FAILED"], []),
  ...held("expire", "delayed", "the attempt took too long", ["WORK_TIMEOUT", "WORK_RETRY"], ["TASK_FAILED"]),
  ...held("expire", "failed", "too long, and no try or time is left", ["WORK_TIMEOUT", "WORK_FAILED"], ["TASK_FAILED"]),
  ...queued("cancel", "cancelled", "nobody wants it", "WORK_CANCELLED"),
  ...held("cancel", "cancelled", "nobody wants it", ["WORK_CANCELLED"], ["TASK_CANCELLED"]),
  ...queued("lapse", "failed", "the deadline passed", "WORK_FAILED"),
  ...(["failed", "cancelled"] as const).flatMap((from) => [
    one(from, "retry", "pending", "somebody wants it tried again", "WORK_QUEUED"),
    one(from, "retry", "blocked", "and a dependency is not completed", "WORK_QUEUED"),
  ]),
];

const key = (from: JobState | null, action: JobAction, to: JobState) => `${from ?? ""}/${action}/${to}`;
const known = new Set(transitions.map(({ from, action, to }) => key(from, action, to)));

/** Every change of a job passes here: a step that the table does not have is a bug. */
export function assertTransition(from: JobState | null, action: JobAction, to: JobState): void {
  assert(known.has(key(from, action, to)), `no job goes from ${from ?? "nothing"} to ${to} by '${action}'`);
}

/** What operators may set of the queue. */
import { decimal, percent, type SettingValues, seconds, settingDefaults, whole } from "../kernel/settings/index.ts";
import { workLimitDefaults } from "./limits.ts";

export const workSettings = {
  leaseSilenceMs: seconds({
    key: "work.lease_silence",
    variable: "RINGRIFT_WORK_LEASE_SILENCE",
    min: 0.2,
    max: 86_400,
    default: 60,
    about: "Silence after which the holder of a job is taken for gone, and the job is given to another.",
  }),
  progressFloorMs: seconds({
    key: "work.progress_floor",
    variable: "RINGRIFT_WORK_PROGRESS_FLOOR",
    min: 0.2,
    max: 30 * 86_400,
    default: 60,
    about: "No job is taken from a holder that is heard before it has made no progress for so long.",
  }),
  progressFactor: decimal({
    key: "work.progress_factor",
    variable: "RINGRIFT_WORK_PROGRESS_FACTOR",
    min: 1,
    max: 1_000,
    unit: "times",
    default: 3,
    about:
      "A job without progress for so many times as long as nearly all such jobs took is given to another; its holder's result is still taken if it is the first.",
  }),
  firstProgressMs: seconds({
    key: "work.first_progress",
    variable: "RINGRIFT_WORK_FIRST_PROGRESS",
    min: 0.2,
    max: 30 * 86_400,
    default: 600,
    about:
      "The same for the first jobs of a kind, while nobody knows how long they take: without progress for so long, another worker gets the job as well.",
  }),
  targetUsage: percent({
    key: "work.target_utilization",
    variable: "RINGRIFT_WORK_TARGET_UTILIZATION",
    default: 90,
    about:
      "Share of a node's processors that jobs and other programs together shall take: where others want more, the node holds fewer jobs, one at least.",
  }),
  maxHeldByNode: whole({
    key: "work.max_held_by_node",
    variable: "RINGRIFT_WORK_MAX_HELD_BY_NODE",
    min: 1,
    max: 20_000,
    unit: "jobs",
    default: 256,
    about: "Jobs that one node may hold at once; it gets no more, with the code TOO_MANY_JOBS_HELD.",
  }),
  maxHeldByToken: whole({
    key: "work.max_held_by_token",
    variable: "RINGRIFT_WORK_MAX_HELD_BY_TOKEN",
    min: 1,
    max: 20_000,
    unit: "jobs",
    default: 1_000,
    about: "Jobs that all workers of one token may hold at once, under whatever names they come.",
  }),
  pressure: {
    soft: whole({
      key: "work.queue_soft_limit",
      variable: "RINGRIFT_WORK_QUEUE_SOFT_LIMIT",
      min: 1,
      max: workLimitDefaults.maxUnfinished,
      unit: "jobs",
      default: 500,
      about: "Jobs that wait when producers are told to make half of what they would.",
    }),
    hard: whole({
      key: "work.queue_brake_limit",
      variable: "RINGRIFT_WORK_QUEUE_BRAKE_LIMIT",
      min: 1,
      max: workLimitDefaults.maxUnfinished,
      unit: "jobs",
      default: 900,
      about: "Jobs that wait when producers are told to make a tenth.",
    }),
    stop: whole({
      key: "work.queue_hard_limit",
      variable: "RINGRIFT_WORK_QUEUE_HARD_LIMIT",
      min: 1,
      max: workLimitDefaults.maxUnfinished,
      unit: "jobs",
      default: 1_000,
      about: "Jobs that wait when producers are told to make nothing.",
    }),
    targetDelaySeconds: decimal({
      key: "work.queue_target_delay",
      variable: "RINGRIFT_WORK_QUEUE_TARGET_DELAY",
      min: 1,
      max: 30 * 86_400,
      unit: "seconds",
      default: 600,
      about:
        "How long a job should wait at most: then producers make half; a tenth after three times as long, nothing after six.",
    }),
  },
};

export type WorkSettings = SettingValues<typeof workSettings>;

/** The two clocks of a lease, and what goes with them. */
export const leasePolicyDefaults = {
  /** A holder that was not heard for so long is taken for gone. */
  silentMs: settingDefaults(workSettings).leaseSilenceMs,
  /** What a preempted holder has to stop in, before its lease is taken from it. */
  graceMs: 60_000,
  /** A job that does not go on for so long, and for so many times as long as such jobs took, is given to another. */
  progressFloorMs: settingDefaults(workSettings).progressFloorMs,
  progressFactor: settingDefaults(workSettings).progressFactor,
  /** And one of a kind of which too little is known, when it does not go on for so long. */
  firstProgressMs: settingDefaults(workSettings).firstProgressMs,
};
export type LeasePolicy = typeof leasePolicyDefaults;

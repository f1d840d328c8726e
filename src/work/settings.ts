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
    about: "Silence after which the holder of a job counts as gone, and the job goes to another node.",
  }),
  progressFloorMs: seconds({
    key: "work.progress_floor",
    variable: "RINGRIFT_WORK_PROGRESS_FLOOR",
    min: 0.2,
    max: 30 * 86_400,
    default: 60,
    about: "Shortest time without progress before a job goes to another node while its holder still sends heartbeats.",
  }),
  progressFactor: decimal({
    key: "work.progress_factor",
    variable: "RINGRIFT_WORK_PROGRESS_FACTOR",
    min: 1,
    max: 1_000,
    unit: "times",
    default: 3,
    about:
      "A job without progress goes to another node after this many times the usual duration of such jobs. The first result counts.",
  }),
  firstProgressMs: seconds({
    key: "work.first_progress",
    variable: "RINGRIFT_WORK_FIRST_PROGRESS",
    min: 0.2,
    max: 30 * 86_400,
    default: 600,
    about:
      "Time without progress after which another worker also gets a job, for the first jobs of a kind, while their usual duration is unknown.",
  }),
  targetUsage: percent({
    key: "work.target_utilization",
    variable: "RINGRIFT_WORK_TARGET_UTILIZATION",
    default: 90,
    about:
      "Target share of a node's processors for jobs and other programs together. If other programs need more, the node gets fewer jobs, but at least one.",
  }),
  maxHeldByNode: whole({
    key: "work.max_held_by_node",
    variable: "RINGRIFT_WORK_MAX_HELD_BY_NODE",
    min: 1,
    max: 20_000,
    unit: "jobs",
    default: 256,
    about: "Maximum number of jobs that one node holds; above it, TOO_MANY_JOBS_HELD.",
  }),
  maxHeldByToken: whole({
    key: "work.max_held_by_token",
    variable: "RINGRIFT_WORK_MAX_HELD_BY_TOKEN",
    min: 1,
    max: 20_000,
    unit: "jobs",
    default: 1_000,
    about: "Maximum number of jobs that all workers of one token hold together.",
  }),
  pressure: {
    soft: whole({
      key: "work.queue_soft_limit",
      variable: "RINGRIFT_WORK_QUEUE_SOFT_LIMIT",
      min: 1,
      max: workLimitDefaults.maxUnfinished,
      unit: "jobs",
      default: 500,
      about: "With this many waiting jobs, producers make half as many new ones.",
    }),
    hard: whole({
      key: "work.queue_brake_limit",
      variable: "RINGRIFT_WORK_QUEUE_BRAKE_LIMIT",
      min: 1,
      max: workLimitDefaults.maxUnfinished,
      unit: "jobs",
      default: 900,
      about: "With this many waiting jobs, producers make a tenth.",
    }),
    stop: whole({
      key: "work.queue_hard_limit",
      variable: "RINGRIFT_WORK_QUEUE_HARD_LIMIT",
      min: 1,
      max: workLimitDefaults.maxUnfinished,
      unit: "jobs",
      default: 1_000,
      about: "With this many waiting jobs, producers make none.",
    }),
    targetDelaySeconds: decimal({
      key: "work.queue_target_delay",
      variable: "RINGRIFT_WORK_QUEUE_TARGET_DELAY",
      min: 1,
      max: 30 * 86_400,
      unit: "seconds",
      default: 600,
      about:
        "Longest time that a job should wait. After it, producers make half; after three times this time a tenth, after six times nothing.",
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

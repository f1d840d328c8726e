/** What operators may set of the queue. */
import { decimal, type SettingValues, seconds, settingDefaults, whole } from "../kernel/settings/index.ts";
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
};
export type LeasePolicy = typeof leasePolicyDefaults;

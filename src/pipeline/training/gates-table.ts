import { defineTable } from "../../router/index.ts";
import type { GateResult } from "./gates.ts";

/** The last verdict on a training run, with what each gate saw. Times are milliseconds since the epoch. */
export type StoredGates = {
  readonly iteration: number;
  readonly attempt: number;
  readonly verdict: "go" | "wait" | "skip";
  /** Each with when it last changed between open and closed. */
  readonly gates: readonly (GateResult & { readonly since: number })[];
  readonly at: number;
};

/** By config_key. Written by `training_trigger`. */
export const trainingGates = defineTable<StoredGates>("pipeline_gates");

/** Written by `quality_monitor_daemon`; absent while the data was never scored. */
export type StoredQuality = { readonly score: number; readonly band: string; readonly at: number };
export const qualityScores = defineTable<StoredQuality>("pipeline_quality");

/** Who trains a config. `holder` is the undertaking, null when it is free; the fence only grows. */
export type TrainingLock = {
  readonly holder: string | null;
  readonly fence: number;
  readonly acquired_at: number;
  readonly expires_at: number;
};
/** By config_key. Written by `training_coordinator`. */
export const trainingLocks = defineTable<TrainingLock>("pipeline_training_locks");

/** The undertaking that holds the lock now; null if nobody does or its time is over. */
export const holderOf = (lock: TrainingLock | undefined, now: number): string | null =>
  lock === undefined || lock.expires_at <= now ? null : lock.holder;

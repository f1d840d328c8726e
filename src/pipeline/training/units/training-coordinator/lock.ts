/** Who trains a config, and how many train at all. */
import type { ConfigLook, StageServices, Turn, Waiting } from "../../../stage/index.ts";
import { LOCK_MS } from "../../limits.ts";
import { holderOf, trainingLocks } from "../../tables.ts";
import type { Work } from "./run.ts";

/** What is missing for a run: the lock of the config, or a slot. It is told once. */
export function lacking(
  { settings: { maxTrainingRuns } }: StageServices,
  { rows, row, emit, now, configKey, jobId }: Turn<"TRAINING_SLOT_UNAVAILABLE">,
  work: Work,
): Waiting | undefined {
  const holder = holderOf(row(trainingLocks), now);
  const isLocked = holder !== null && holder !== jobId;
  const others = rows
    .list(trainingLocks)
    .filter(([key, each]) => key !== configKey && holderOf(each, now) !== null).length;
  if (!isLocked && others < maxTrainingRuns) return undefined;
  const missing = isLocked
    ? { for: "training_lock", actual: holder, required: "free" }
    : { for: "training_slot", actual: others, required: `fewer than ${maxTrainingRuns}` };
  if (!work.waits.some((known) => known.for === missing.for))
    emit.TRAINING_SLOT_UNAVAILABLE({
      config_key: configKey,
      waits_for: isLocked ? "config_lock" : "cluster_slot",
      running_runs: others + (isLocked ? 1 : 0),
      allowed_runs: maxTrainingRuns,
    });
  return missing;
}

export function acquire({ row, put, emit, now, configKey, jobId }: Turn<"TRAINING_LOCK_ACQUIRED">): void {
  const fence = (row(trainingLocks)?.fence ?? 0) + 1;
  const expires_at = now + LOCK_MS;
  put(trainingLocks, { holder: jobId, fence, acquired_at: now, expires_at });
  emit.TRAINING_LOCK_ACQUIRED({ config_key: configKey, job_id: jobId, expires_at: expires_at / 1_000 });
}

/** Holds the lock for longer, some time before it ends. */
export function renew({ row, put, now }: ConfigLook): void {
  const lock = row(trainingLocks);
  if (lock !== undefined && lock.expires_at - now < LOCK_MS / 2)
    put(trainingLocks, { ...lock, expires_at: now + LOCK_MS });
}

export function release({ row, put, now }: ConfigLook, jobId: string): void {
  const lock = row(trainingLocks);
  if (lock?.holder === jobId) put(trainingLocks, { ...lock, holder: null, expires_at: now });
}

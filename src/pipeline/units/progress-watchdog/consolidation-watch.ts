import { defineTable } from "../../../router/index.ts";
import { consolidations } from "../../data/index.ts";
import type { ConfigLook } from "../../stage/index.ts";

/** A merge of brought games that takes too long, as it was told. By config_key; written by `progress_watchdog`. */
export const lateMerges = defineTable<{ readonly job_id: string }>("pipeline_late_merges");

/** It reads and writes some hundred megabytes at most. */
const WITHIN_MS = 60 * 60_000;
const CONSOLIDATION_LATE = "CONSOLIDATION_LATE";

/** Names a merge that does not come to its end, and says so when it has after all. */
export function watchMerge({
  rows,
  row,
  put,
  emit,
  now,
  configKey: config_key,
}: ConfigLook<"DATA_QUALITY_ALERT">): void {
  const merge = row(consolidations);
  const told = row(lateMerges);
  const about = { config_key, error_code: CONSOLIDATION_LATE };
  const isLate = merge?.state === "running" && now - merge.since >= WITHIN_MS;
  if (isLate && told === undefined) {
    put(lateMerges, { job_id: merge.job_id });
    const message = `the games that were brought are not merged after ${WITHIN_MS / 60_000} min (${merge.job_id}); 'ringrift queue show ${merge.job}' shows why`;
    emit.DATA_QUALITY_ALERT({ ...about, severity: "warning", message });
  } else if (!isLate && told !== undefined) {
    rows.delete(lateMerges, config_key);
    emit.DATA_QUALITY_ALERT({ ...about, severity: "info", message: `${told.job_id} has come to its end` });
  }
}

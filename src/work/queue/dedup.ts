import type { JobRow } from "../job/job.ts";
import type { Plan } from "./plan.ts";

/** A key is one job's until that has failed or was cancelled. */
const TAKEN = "state NOT IN ('failed', 'cancelled')";

/** The job that has this key. */
export const jobOfKey = (plan: Plan, dedupKey: string): number | undefined =>
  plan.read<{ seq: number }>(`SELECT seq FROM work_jobs WHERE dedup_key = ? AND ${TAKEN}`, dedupKey)[0]?.seq;

/** The job that took the key of one that had ended without a result. */
export const otherOfItsKey = (plan: Plan, ended: Pick<JobRow, "seq">): number | undefined =>
  plan.read<{ seq: number }>(
    `SELECT seq FROM work_jobs WHERE dedup_key = (SELECT dedup_key FROM work_jobs WHERE seq = ?) AND ${TAKEN}`,
    ended.seq,
  )[0]?.seq;

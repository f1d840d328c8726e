import type { QueueLevel } from "../../work/index.ts";

/** Of the jobs that a config may have in the queue, what each level of pressure leaves. */
const shares: Readonly<Record<QueueLevel, number>> = { none: 1, soft: 0.5, hard: 0.1, stop: 0 };

/** Jobs of a config that may be in the queue at once. Never none: a trickle goes on, or nothing would ever move again. */
export const openJobsAllowed = (level: QueueLevel, share: number, mostOpen: number): number =>
  Math.max(1, Math.floor(mostOpen * share * shares[level]));

const CHEAPEST = 0.1;
const DEAREST = 10;

/**
 * What a job costs its config in the queue's books, so that the queue's equal turns come out as the allocation: a config
 * with twice an equal share pays half for each job and gets two where another gets one.
 */
export const costOf = (share: number, configs: number): number =>
  share <= 0 ? DEAREST : Math.min(DEAREST, Math.max(CHEAPEST, 1 / (share * Math.max(1, configs))));

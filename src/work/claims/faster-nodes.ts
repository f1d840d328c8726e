/** Whether a slow node leaves a job to faster ones: pure, from what such jobs took and from how fast nodes are. */

/** A node that could take the job as well. */
export interface FasterNode {
  /** How long the job would take there. */
  readonly takesMs: number;
  /** Jobs that it does at once. */
  readonly slots: number;
  /** What is left of those that it has. */
  readonly leftMs: readonly number[];
}

/** Who is not clearly slower takes what comes. */
const CLEARLY = 1.5;
/** Estimates are rough: only what is sooner by more than this is waited for. */
const SPARE = 0.8;
/** A job that has waited for faster ones for so much of what it would take here waits no longer. */
const PATIENCE = 0.5;

/**
 * True if the faster ones would be done with all that waits before this node would be done with this one job: then it only makes
 * everybody wait for the slowest. As soon as more waits than they can do by then, it takes its part.
 */
export function leavesToFaster(
  job: { readonly takesMs: number; readonly waitedMs: number; readonly waiting: number },
  others: readonly FasterNode[],
): boolean {
  const faster = others.filter(({ takesMs, slots }) => slots > 0 && takesMs * CLEARLY <= job.takesMs);
  if (faster.length === 0 || job.waitedMs > PATIENCE * job.takesMs) return false;
  const untilMs = SPARE * job.takesMs;
  // So many of them each could do by then, one after the other, in every slot it has.
  const done = faster.reduce((sum, { takesMs, slots, leftMs }) => {
    const free = Array.from({ length: slots }, (_, n) => leftMs[n] ?? 0);
    return sum + free.reduce((jobs, leftHereMs) => jobs + Math.max(0, Math.floor((untilMs - leftHereMs) / takesMs)), 0);
  }, 0);
  return done >= job.waiting;
}

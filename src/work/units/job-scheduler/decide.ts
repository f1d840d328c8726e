import { preemptionLimits } from "../../limits.ts";
import type { HeldJob } from "../../views.ts";

/** A job that waits, as far as it could drive others out. */
export interface WaitingJob {
  readonly work_id: string;
  readonly urgency: number;
  readonly waitedMs: number;
  /** Whether it could run on a node. */
  readonly fits: (nodeId: string) => boolean;
}

/** The order in which jobs would be stopped: the least urgent, and of those the youngest, that loses least. */
export const byLoss = (a: HeldJob, b: HeldJob): number => a.urgency - b.urgency || b.claimed_at - a.claimed_at;

/** Who has to make room for whom: each waiting job drives out one at most, and nobody is asked twice. */
export function choosePreemptions(
  waiting: readonly WaitingJob[],
  held: readonly (HeldJob & {
    readonly preemptible: boolean;
    /** When it is done, as far as such jobs tell; 0 where it is late, undefined where nothing is known. */
    readonly endsInMs?: number | undefined;
  })[],
  now: number,
  policy = preemptionLimits,
): { readonly stop: string; readonly for: string }[] {
  // Who was asked before makes room for one of those that wait: the most urgent ones need no second.
  const underWay = held.filter(({ stopping }) => stopping).length;
  // What is done in a moment makes room by itself, sooner than anybody could be stopped.
  const isEnding = ({ stopping, endsInMs }: (typeof held)[number]) =>
    !stopping && endsInMs !== undefined && endsInMs > 0 && endsInMs <= policy.soonMs;
  const ending = held.filter(isEnding);
  const candidates = held
    .filter((job) => job.preemptible && !job.stopping && !isEnding(job) && now - job.claimed_at >= policy.minRunMs)
    .toSorted(byLoss);
  const chosen: { stop: string; for: string }[] = [];
  const gone = new Set<string>();
  const impatient = waiting
    .filter(({ waitedMs }) => waitedMs >= policy.patienceMs)
    .toSorted((a, b) => b.urgency - a.urgency || b.waitedMs - a.waitedMs);
  for (const job of impatient.slice(underWay)) {
    const room = ending.findIndex(({ node_id }) => job.fits(node_id));
    if (room >= 0) {
      ending.splice(room, 1);
      continue;
    }
    const victim = candidates.find(
      (one) => !gone.has(one.work_id) && one.urgency + policy.classes <= job.urgency && job.fits(one.node_id),
    );
    if (victim === undefined) continue;
    gone.add(victim.work_id);
    chosen.push({ stop: victim.work_id, for: job.work_id });
  }
  return chosen;
}

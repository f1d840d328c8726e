import type { Store } from "../router/index.ts";
import { type Candidate, whyNotOn } from "./claims/placement.ts";
import { type UntakenJob, whyUntaken } from "./claims/untaken.ts";
import { workIdOf } from "./job/job.ts";
import { whyNotThere } from "./job/needs.ts";
import type { QueueState } from "./queue/queue-state.ts";
import { isDue } from "./tables.ts";
import type { WaitingJob } from "./units/job-scheduler/decide.ts";
import { fronts, heldJobs } from "./views.ts";

type Reader = Pick<Store, "read">;

/** How many jobs wait to be claimed, or their time has come; no more than `max` are counted. */
export function countClaimable(store: Reader, max: number, now: number): number {
  const pending = store.read("SELECT 1 FROM work_jobs WHERE state = 'pending' LIMIT ?", max).length;
  if (pending >= max) return pending;
  return pending + store.read(`SELECT 1 FROM work_jobs WHERE ${isDue} LIMIT ?2`, now, max - pending).length;
}

/** The first few of each line that wait and are at least so urgent. */
export const urgentJobs = (
  store: Reader,
  { lanes }: QueueState,
  level: number,
  max: number,
  now: number,
): WaitingJob[] =>
  fronts(store, lanes, level, max).map(({ seq, lane, urgency, ready_at }) => {
    const line = lanes.get(lane);
    return {
      work_id: workIdOf(seq),
      urgency,
      waitedMs: now - ready_at,
      fits: (nodeId) => whyNotThere(line, nodeId, undefined) === undefined,
    };
  });

/** Jobs at the fronts of their lines that nobody who is there may have, with the reason. */
export function untakenJobs(store: Reader, { lanes, nodePolicy, workers }: QueueState, now: number): UntakenJob[] {
  const busy = new Set(heldJobs(store).map(({ node_id }) => node_id));
  const judged = workers.list().map((worker) => ({
    ...worker,
    verdict: nodePolicy(worker.node_id, now),
    isIdle: !busy.has(worker.node_id),
  }));
  return fronts(store, lanes, 0, 1).flatMap(({ seq, lane, ready_at }) => {
    const line = lanes.get(lane);
    const reason = whyUntaken(line, judged);
    if (reason === undefined) return [];
    return [{ work_id: workIdOf(seq), work_type: line.workType, waitedMs: now - ready_at, reason }];
  });
}

/** How many jobs at the fronts of their lines a node could take. */
export function countFitting(
  store: Reader,
  { lanes, nodePolicy }: QueueState,
  candidate: Candidate,
  now: number,
): number {
  const verdict = nodePolicy(candidate.node_id, now);
  const isFor = (lane: number) => whyNotOn(lanes.get(lane), candidate, verdict) === undefined;
  return fronts(store, lanes, 0, 1).filter(({ lane }) => isFor(lane)).length;
}

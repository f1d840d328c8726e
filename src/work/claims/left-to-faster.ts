/** What a slow node leaves to faster ones, looked up for one claim; the decision is in `faster-nodes.ts`. */

import type { JobRow } from "../job/job.ts";
import type { Lane } from "../job/needs.ts";
import type { KnownWorker } from "../queue/known-workers.ts";
import type { Plan } from "../queue/plan.ts";
import type { QueueState } from "../queue/queue-state.ts";
import { type FasterNode, leavesToFaster } from "./faster-nodes.ts";
import { takes } from "./untaken.ts";

/** Whether a claim leaves a job for others. */
export type PassesOver = (job: JobRow, lane: Lane) => boolean;

/** Where more waits than this, there is enough to do for everybody. */
const PLENTY_WAITS = 64;
/** So many faster nodes are looked at. */
const MAX_RIVALS = 16;

/**
 * Jobs that faster nodes would be done with before this one. Looked at only where this node is known to be slow and little waits, and
 * once for each lane.
 */
export function leftToFaster(parts: QueueState, plan: Plan, nodeId: string, now: number): PassesOver {
  const { durations } = parts;
  if (durations.pace(nodeId) === undefined) return () => false;
  let waiting: number | undefined;
  const rivals = new Map<string, readonly KnownWorker[]>();
  const looked = new Map<number, readonly FasterNode[]>();
  return (job, lane) => {
    // What was tried in vain is for whoever asks: a node that never brings a result is as fast as it likes.
    if (job.attempts > 0) return false;
    const takesMs = durations.expected(lane, nodeId);
    if (takesMs === undefined) return false;
    waiting ??= waitingIn(plan);
    if (waiting > PLENTY_WAITS) return false;
    if (!rivals.has(lane.workType)) rivals.set(lane.workType, fasterThan(parts, nodeId, lane.workType));
    const faster = rivals.get(lane.workType)!;
    if (faster.length === 0) return false;
    if (!looked.has(lane.lane)) looked.set(lane.lane, fasterAt(parts, plan, lane, faster, now));
    return leavesToFaster({ takesMs, waitedMs: now - job.ready_at, waiting }, looked.get(lane.lane)!);
  };
}

/** The fastest of those that are there and faster at a kind. */
function fasterThan({ durations, workers }: QueueState, nodeId: string, workType: string): KnownWorker[] {
  const paceOf = ({ node_id }: KnownWorker) => durations.pace(node_id, workType) ?? Number.POSITIVE_INFINITY;
  const own = durations.pace(nodeId, workType)!;
  return workers
    .list()
    .filter((each) => paceOf(each) < own)
    .sort((a, b) => paceOf(a) - paceOf(b))
    .slice(0, MAX_RIVALS);
}

const fasterAt = (
  parts: QueueState,
  plan: Plan,
  lane: Lane,
  rivals: readonly KnownWorker[],
  now: number,
): FasterNode[] =>
  rivals
    .filter((each) => takes(parts, lane, each, now))
    .map(({ node_id, all }) => {
      const { durations, lanes } = parts;
      const held = heldThere(plan, node_id);
      const leftMs = held.map(({ lane: other, began }) =>
        Math.max(0, (durations.expected(lanes.get(other), node_id) ?? 0) - (now - began)),
      );
      const takesMs = durations.expected(lane, node_id) ?? Number.POSITIVE_INFINITY;
      return { takesMs, slots: Math.max(all, held.length), leftMs };
    });

const heldThere = (plan: Plan, nodeId: string): { lane: number; began: number }[] =>
  plan.read(
    `SELECT lane, coalesce(started_at, claimed_at) AS began FROM work_jobs INDEXED BY work_held
     WHERE state IN ('claimed', 'running') AND node_id = ?`,
    nodeId,
  );

const waitingIn = (plan: Plan): number =>
  plan.read<{ n: number }>("SELECT coalesce(sum(jobs), 0) AS n FROM work_counts WHERE state = 'pending'")[0]!.n;

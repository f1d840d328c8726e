import type { Store } from "../../router/index.ts";
import { seqOf } from "../job/job.ts";
import { isHeld, type JobState } from "../job/states.ts";
import { HELD_COLUMNS, type HeldLease, type Idle } from "../queue/lease-times.ts";
import type { QueueState } from "../queue/queue-state.ts";

type Reader = Pick<Store, "read">;

/** How long a job would take on a node, or has left there; undefined while too little is known. */
export function expectedMs(
  store: Reader,
  { durations, lanes }: QueueState,
  workId: string,
  nodeId: string,
  now: number,
): number | undefined {
  const [row] = store.read<{ lane: number; state: JobState; node_id: string | null; began: number | null }>(
    "SELECT lane, state, node_id, coalesce(started_at, claimed_at) AS began FROM work_jobs WHERE seq = ?",
    seqOf(workId),
  );
  if (row === undefined) return undefined;
  const wholeMs = durations.expected(lanes.get(row.lane), nodeId);
  const isHere = isHeld(row.state) && row.node_id === nodeId && row.began !== null;
  return wholeMs === undefined || !isHere ? wholeMs : Math.max(0, wholeMs - (now - row.began!));
}

/** For how long a held job has made no progress, and after how long it is given to another; undefined where nobody holds it. */
export function idleOf(store: Reader, { times }: QueueState, workId: string): Idle | undefined {
  const [row] = store.read<HeldLease & { state: JobState }>(
    `SELECT ${HELD_COLUMNS}, state FROM work_jobs WHERE seq = ?`,
    seqOf(workId),
  );
  return row === undefined || !isHeld(row.state) ? undefined : times.idle(row);
}

import { type Json, sumOf } from "../kernel/index.ts";
import { conditions, type SqlValue, type Store } from "../router/index.ts";
import { type EarlierLease, earlierLeases } from "./job/earlier-leases.ts";
import { type SavedCheckpoint, type StoredJob, seqOf, workIdOf } from "./job/job.ts";
import type { Evidence } from "./job/kinds.ts";
import type { JobOrder, JobState } from "./job/states.ts";
import { type Urgency, urgencyOf } from "./job/urgency.ts";
import type { FailedOutcome } from "./queue/job-events.ts";
import type { Lanes } from "./queue/lanes.ts";

type Reader = Pick<Store, "read">;
type Scanner = Pick<Store, "scan">;

/** As they are told. */
type Told =
  | "state"
  | "attempts"
  | "max_attempts"
  | "node_id"
  | "fence"
  | "queued_at"
  | "deadline"
  | "claimed_at"
  | "started_at"
  | "finished_at"
  | "progress"
  | "batch_id"
  | "dedup_key";

/** A job for people and clients. */
export interface JobView extends Pick<StoredJob, Told> {
  readonly work_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly urgency: Urgency;
  readonly retry_at: number | null;
  /** What its holder said last of how it goes, as in losses. */
  readonly metrics: Readonly<Record<string, number>> | null;
  /** Of a completed one. */
  readonly evidence: Evidence | null;
  /** Of one that failed, was cancelled, or waits for another try. */
  readonly failure: FailedOutcome | null;
  /** Accelerators that are its alone while it runs. */
  readonly gpus: number;
  /** What a try saved when it was stopped, for the next one. */
  readonly saved: SavedCheckpoint | null;
  /** From whom it was taken without a word, oldest first. */
  readonly lapses: readonly Pick<EarlierLease, "node_id" | "why" | "lapsed_at">[];
}

type Joined = Pick<StoredJob, Told | "seq" | "urgency" | "metrics" | "outcome" | "earlier" | "saved"> &
  Pick<JobView, "work_type" | "config_key" | "gpus" | "retry_at">;

/** Of the lane's needs. */
const GPUS = "coalesce(json_extract(l.needs, '$.gpu'), 0) AS gpus";
const JOINED = `SELECT j.seq, l.work_type, l.config_key, ${GPUS}, j.urgency, j.state, j.attempts, j.max_attempts, j.node_id, j.fence,
    j.queued_at, j.not_before AS retry_at, j.deadline, j.claimed_at, j.started_at, j.finished_at, j.progress, j.metrics,
    j.batch_id, j.dedup_key, j.outcome, j.earlier, j.saved
  FROM work_jobs j JOIN work_lanes l ON l.lane = j.lane`;

function viewOf({ seq, urgency, metrics, outcome, earlier, saved, ...row }: Joined): JobView {
  const result: unknown = outcome === null ? null : JSON.parse(outcome);
  const done = row.state === "completed";
  return {
    work_id: workIdOf(seq),
    ...row,
    urgency: urgencyOf(urgency),
    metrics: metrics === null ? null : (JSON.parse(metrics) as Record<string, number>),
    evidence: done ? (result as Evidence | null) : null,
    failure: done ? null : (result as FailedOutcome | null),
    saved: saved === null ? null : (JSON.parse(saved) as SavedCheckpoint),
    lapses: earlierLeases({ earlier }).map(({ node_id, why, lapsed_at }) => ({ node_id, why, lapsed_at })),
  };
}

/** Those of these files that a job has brought or saved. It goes through all jobs that are kept, on the thread of the readers. */
export async function filesInResults(store: Pick<Store, "scan">, sha256s: readonly string[]): Promise<string[]> {
  const found = await store.scan<{ sha256: string }>(
    `SELECT f.value AS sha256 FROM json_each(?) f WHERE EXISTS (SELECT 1 FROM work_jobs j
       WHERE instr(ifnull(j.outcome, '') || ifnull(j.saved, ''), f.value) > 0)`,
    [JSON.stringify(sha256s)],
  );
  return found.map(({ sha256 }) => sha256);
}

export function showJob(store: Reader, workId: string): JobView | undefined {
  const [row] = store.read<Joined>(`${JOINED} WHERE j.seq = ?`, seqOf(workId));
  return row === undefined ? undefined : viewOf(row);
}

export function payloadOf(store: Reader, workId: string): Readonly<Record<string, Json>> | undefined {
  const [row] = store.read<{ payload: string }>("SELECT payload FROM work_inputs WHERE seq = ?", seqOf(workId));
  return row === undefined ? undefined : (JSON.parse(row.payload) as Record<string, Json>);
}

const ORDERS: Readonly<Record<JobOrder, string>> = {
  oldest: "j.seq",
  newest: "j.seq DESC",
  // Of those that are as urgent the one that was added first.
  urgent: "j.urgency DESC, j.seq",
};

export interface JobFilter {
  readonly state?: JobState;
  readonly configKey?: string;
  readonly workType?: string;
  readonly nodeId?: string;
  readonly batchId?: string;
  readonly limit?: number;
  /** The work id to go on after. */
  readonly after?: string;
  /** Only those that were added before this one. */
  readonly before?: string;
  /** Those that were added first unless said. */
  readonly order?: JobOrder;
}

function listing(filter: JobFilter): { sql: string; params: SqlValue[] } {
  const { sql, params } = conditions({
    "j.state = ?": filter.state,
    "l.config_key = ?": filter.configKey,
    "l.work_type = ?": filter.workType,
    "j.node_id = ?": filter.nodeId,
    "j.batch_id = ?": filter.batchId,
    "j.seq > ?": filter.after === undefined ? undefined : seqOf(filter.after),
    "j.seq < ?": filter.before === undefined ? undefined : seqOf(filter.before),
  });
  const limit = Math.min(filter.limit ?? 100, 1_000);
  return {
    sql: `${JOINED} WHERE ${sql} ORDER BY ${ORDERS[filter.order ?? "oldest"]} LIMIT ?`,
    params: [...params, limit],
  };
}

/** Jobs, for who knows that few are to be gone through: a batch, or what no filter leaves out. */
export function listJobs(store: Reader, filter: JobFilter = {}): JobView[] {
  const { sql, params } = listing(filter);
  return store.read<Joined>(sql, ...params).map(viewOf);
}

/** The same for any filter: most have no index, and go through all jobs to find that none fits. */
export async function findJobs(store: Scanner, filter: JobFilter, signal?: AbortSignal): Promise<JobView[]> {
  const { sql, params } = listing(filter);
  return (await store.scan<Joined>(sql, params, signal)).map(viewOf);
}

/** How much waits, for how long, and how much is under way. */
export interface QueueLoad {
  readonly pending: number;
  readonly delayed: number;
  readonly blocked: number;
  readonly held: number;
  /** How long the oldest claimable job has waited. */
  readonly oldestSeconds: number;
  /** How much of that somebody was there to give it out. */
  readonly waitedSeconds: number;
}

export function queueLoad(store: Reader, lanes: Lanes, now: number, listenedMs: number): QueueLoad {
  const counts = store.read<{ state: JobState; jobs: number }>("SELECT state, jobs FROM work_counts");
  const count = (...states: readonly JobState[]) =>
    sumOf(counts, ({ state, jobs }) => (states.includes(state) ? jobs : 0));
  // What was added first need not have been ready first, yet nearly so: the fronts tell how long the lines take.
  const oldest = Math.min(now, ...fronts(store, lanes, 0, 1).map(({ ready_at }) => ready_at));
  return {
    pending: count("pending"),
    delayed: count("delayed"),
    blocked: count("blocked"),
    held: count("claimed", "running"),
    oldestSeconds: (now - oldest) / 1_000,
    waitedSeconds: Math.min(now - oldest, listenedMs) / 1_000,
  };
}

/** How long the job has waited that stands at the front of the longest-waiting line of a kind. */
export function oldestByKind(store: Reader, lanes: Lanes, now: number): Record<string, number> {
  const oldest: Record<string, number> = {};
  for (const { lane, ready_at } of fronts(store, lanes, 0, 1)) {
    const { workType } = lanes.get(lane);
    oldest[workType] = Math.max(oldest[workType] ?? 0, now - ready_at);
  }
  return oldest;
}

export interface QueueCount {
  readonly config_key: string | null;
  readonly work_type: string;
  readonly state: JobState;
  readonly jobs: number;
}

export const queueCounts = (store: Reader): QueueCount[] =>
  store.read<QueueCount>(
    `SELECT l.config_key, l.work_type, c.state, sum(c.jobs) AS jobs FROM work_counts c JOIN work_lanes l ON l.lane = c.lane
     WHERE c.jobs > 0 GROUP BY l.config_key, l.work_type, c.state ORDER BY 1, 2, 3`,
  );

/** Jobs in somebody's hands, with what schedulers judge by. */
export interface HeldJob {
  readonly work_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly node_id: string;
  readonly urgency: number;
  readonly claimed_at: number;
  /** Accelerators that are its alone. */
  readonly gpus: number;
  /** It was asked to stop. */
  readonly stopping: boolean;
}

type HeldRow = Omit<HeldJob, "work_id" | "stopping"> & Pick<StoredJob, "seq" | "stop_by">;

export const heldJobs = (store: Reader, nodeId?: string): HeldJob[] =>
  store
    .read<HeldRow>(
      `SELECT j.seq, l.work_type, l.config_key, ${GPUS}, j.node_id, j.urgency, j.claimed_at, j.stop_by
       FROM work_jobs j INDEXED BY work_held JOIN work_lanes l ON l.lane = j.lane
       WHERE j.state IN ('claimed', 'running')${nodeId === undefined ? "" : " AND j.node_id = ?"} ORDER BY j.seq`,
      ...(nodeId === undefined ? [] : [nodeId]),
    )
    .map(({ seq, stop_by, ...row }) => ({ work_id: workIdOf(seq), ...row, stopping: stop_by !== null }));

/** How many jobs each node holds, read on another thread. */
export const heldCounts = async (store: Pick<Store, "scan">, signal?: AbortSignal): Promise<Map<string, number>> => {
  const rows = await store.scan<{ node_id: string; jobs: number }>(
    `SELECT node_id, count(*) AS jobs FROM work_jobs INDEXED BY work_held
     WHERE state IN ('claimed', 'running') GROUP BY node_id`,
    [],
    signal,
  );
  return new Map(rows.map(({ node_id, jobs }) => [node_id, jobs]));
};

/** A job at the front of its line. */
export interface Front {
  readonly seq: number;
  readonly lane: number;
  readonly urgency: number;
  readonly ready_at: number;
}

/** The first few of each line of at least this class: a look at the fronts, however long the lines are. */
export const fronts = (store: Reader, lanes: Lanes, min: number, max: number): Front[] =>
  [...lanes.all()].flatMap((lane) =>
    lanes
      .levels(lane)
      .filter((level) => level >= min)
      .flatMap((level) =>
        store.read<Front>(
          `SELECT seq, lane, urgency, ready_at FROM work_jobs
           WHERE state = 'pending' AND lane = ? AND urgency = ? ORDER BY seq LIMIT ?`,
          lane.lane,
          level,
          max,
        ),
      ),
  );

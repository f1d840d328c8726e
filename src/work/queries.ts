import type { Json } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import { type StoredJob, seqOf, workIdOf } from "./job.ts";
import type { Evidence } from "./kinds.ts";
import type { LaneBook } from "./lane-book.ts";
import type { JobState } from "./states.ts";
import type { FailedOutcome } from "./told.ts";
import { type Urgency, urgencyOf } from "./urgency.ts";

type Reader = Pick<Store, "read">;

/** A job for people and clients. Times are Unix seconds. */
export interface JobView {
  readonly work_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly urgency: Urgency;
  readonly state: JobState;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly node_id: string | null;
  readonly fence: number;
  readonly queued_at: number;
  readonly retry_at: number | null;
  readonly deadline: number | null;
  readonly claimed_at: number | null;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly progress: number | null;
  /** What its holder said last of how it goes, as in losses. */
  readonly metrics: Readonly<Record<string, number>> | null;
  readonly batch_id: string | null;
  readonly dedup_key: string | null;
  /** Of a completed one. */
  readonly evidence: Evidence | null;
  /** Of one that failed, was cancelled, or waits for another try. */
  readonly failure: FailedOutcome | null;
}

type Joined = StoredJob & { work_type: string; config_key: string | null };

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1_000);

function viewOf(row: Joined): JobView {
  const outcome = row.outcome === null ? null : (JSON.parse(row.outcome) as Record<string, unknown>);
  const done = row.state === "completed";
  return {
    work_id: workIdOf(row.seq),
    work_type: row.work_type,
    config_key: row.config_key,
    urgency: urgencyOf(row.urgency),
    state: row.state,
    attempts: row.attempts,
    max_attempts: row.max_attempts,
    node_id: row.node_id,
    fence: row.fence,
    queued_at: row.queued_at / 1_000,
    retry_at: seconds(row.not_before),
    deadline: seconds(row.deadline),
    claimed_at: seconds(row.claimed_at),
    started_at: seconds(row.started_at),
    finished_at: seconds(row.finished_at),
    progress: row.progress,
    metrics: row.metrics === null ? null : (JSON.parse(row.metrics) as Record<string, number>),
    batch_id: row.batch_id,
    dedup_key: row.dedup_key,
    evidence: done ? (outcome as Evidence | null) : null,
    failure: done ? null : (outcome as FailedOutcome | null),
  };
}

const JOINED = "SELECT j.*, l.work_type, l.config_key FROM work_jobs j JOIN work_lanes l ON l.lane = j.lane";

export function showJob(store: Reader, workId: string): JobView | undefined {
  const [row] = store.read<Joined>(`${JOINED} WHERE j.seq = ?`, seqOf(workId));
  return row === undefined ? undefined : viewOf(row);
}

export function payloadOf(store: Reader, workId: string): Readonly<Record<string, Json>> | undefined {
  const [row] = store.read<{ payload: string }>("SELECT payload FROM work_inputs WHERE seq = ?", seqOf(workId));
  return row === undefined ? undefined : (JSON.parse(row.payload) as Record<string, Json>);
}

export interface JobFilter {
  readonly state?: JobState;
  readonly configKey?: string;
  readonly workType?: string;
  readonly nodeId?: string;
  readonly batchId?: string;
  readonly limit?: number;
  /** The work id to go on after. */
  readonly after?: string;
}

/** Jobs in the order they were added. */
export function listJobs(store: Reader, filter: JobFilter = {}): JobView[] {
  const conditions: [string, string | number][] = [];
  if (filter.state !== undefined) conditions.push(["j.state = ?", filter.state]);
  if (filter.configKey !== undefined) conditions.push(["l.config_key = ?", filter.configKey]);
  if (filter.workType !== undefined) conditions.push(["l.work_type = ?", filter.workType]);
  if (filter.nodeId !== undefined) conditions.push(["j.node_id = ?", filter.nodeId]);
  if (filter.batchId !== undefined) conditions.push(["j.batch_id = ?", filter.batchId]);
  if (filter.after !== undefined) conditions.push(["j.seq > ?", seqOf(filter.after)]);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([text]) => text).join(" AND ")}`;
  const limit = Math.min(filter.limit ?? 100, 1_000);
  return store
    .read<Joined>(`${JOINED} ${where} ORDER BY j.seq LIMIT ?`, ...conditions.map(([, value]) => value), limit)
    .map(viewOf);
}

/** How much waits, for how long, and how much is under way. */
export interface QueueLoad {
  readonly pending: number;
  readonly delayed: number;
  readonly blocked: number;
  readonly held: number;
  /** How long the oldest claimable job has waited. */
  readonly oldestSeconds: number;
}

export function queueLoad(store: Reader, lanes: LaneBook, now: number): QueueLoad {
  // Written out, or the planner would not see that the partial indexes hold the answer.
  const count = (where: string) =>
    store.read<{ n: number }>(`SELECT count(*) AS n FROM work_jobs WHERE ${where}`)[0]!.n;
  // What was added first need not have been ready first, yet nearly so: the fronts tell how long the lines take.
  const oldest = Math.min(now, ...fronts(store, lanes, 0, 1).map(({ ready_at }) => ready_at));
  return {
    pending: count("state = 'pending'"),
    delayed: count("state = 'delayed'"),
    blocked: count("state = 'blocked'"),
    held: count("state IN ('claimed', 'running')"),
    oldestSeconds: (now - oldest) / 1_000,
  };
}

export interface QueueCount {
  readonly config_key: string | null;
  readonly work_type: string;
  readonly state: JobState;
  readonly jobs: number;
}

export const queueCounts = (store: Reader): QueueCount[] =>
  store.read<QueueCount>(
    `SELECT l.config_key, l.work_type, j.state, count(*) AS jobs FROM work_jobs j JOIN work_lanes l ON l.lane = j.lane
     GROUP BY l.config_key, l.work_type, j.state ORDER BY 1, 2, 3`,
  );

/** Jobs in somebody's hands, with what schedulers judge by. */
export interface HeldJob {
  readonly work_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly node_id: string;
  readonly urgency: number;
  readonly claimed_at: number;
  /** It was asked to stop. */
  readonly stopping: boolean;
}

export const heldJobs = (store: Reader, nodeId?: string): HeldJob[] =>
  store
    .read<Joined>(
      `${JOINED.replace("work_jobs j", "work_jobs j INDEXED BY work_held")}
       WHERE j.state IN ('claimed', 'running')${nodeId === undefined ? "" : " AND j.node_id = ?"} ORDER BY j.seq`,
      ...(nodeId === undefined ? [] : [nodeId]),
    )
    .map((row) => ({
      work_id: workIdOf(row.seq),
      work_type: row.work_type,
      config_key: row.config_key,
      node_id: row.node_id!,
      urgency: row.urgency,
      claimed_at: row.claimed_at!,
      stopping: row.stop_by !== null,
    }));

/** A job at the front of its line. */
export interface Front {
  readonly seq: number;
  readonly lane: number;
  readonly urgency: number;
  readonly ready_at: number;
}

/** The first few of each line of at least this class: a look at the fronts, however long the lines are. */
export const fronts = (store: Reader, lanes: LaneBook, least: number, most: number): Front[] =>
  [...lanes.all()].flatMap((lane) =>
    lanes
      .levels(lane)
      .filter((level) => level >= least)
      .flatMap((level) =>
        store.read<Front>(
          `SELECT seq, lane, urgency, ready_at FROM work_jobs
           WHERE state = 'pending' AND lane = ? AND urgency = ? ORDER BY seq LIMIT ?`,
          lane.lane,
          level,
          most,
        ),
      ),
  );

/** What became of every job, read from the rows and from what was told of it. */

export interface JobBook {
  readonly work_id: string;
  readonly state: string;
  readonly attempts: number;
  readonly fence: number;
  /** The lease whose holder brought the result: not the last one, where an earlier holder was the first after all. */
  readonly winner: number;
  readonly completed: number;
  readonly claimed: number;
  /** Attempts before the one that did it, of which it was told that the job is tried again. */
  readonly retried: number;
  /** How often that was told of the attempt that did it, and of those after it. */
  readonly given_up: number;
  readonly after: number;
  /** How often the holder that brought the result was told to be lost before that. */
  readonly late: number;
  readonly outcome: string | null;
}

export const JOB_BOOKS = `WITH orphaned AS MATERIALIZED (SELECT order_key, count(*) AS times FROM events
    WHERE event_type = 'TASK_ORPHANED' GROUP BY order_key),
  told AS MATERIALIZED (SELECT payload ->> '$.work_id' AS work_id, event_type, payload ->> '$.attempts' AS attempts
    FROM events WHERE event_type LIKE 'WORK_%'),
  jobs AS MATERIALIZED (SELECT seq, state, attempts, fence, outcome,
    coalesce((SELECT e.value ->> '$.fence' FROM json_each(earlier) e WHERE e.value ->> '$.won'), fence) AS winner FROM work_jobs)
  SELECT 'w' || j.seq AS work_id, j.state, j.attempts, j.fence, j.winner, j.outcome,
    count(*) FILTER (WHERE t.event_type = 'WORK_COMPLETED') AS completed,
    count(*) FILTER (WHERE t.event_type = 'WORK_CLAIMED') AS claimed,
    count(DISTINCT t.attempts) FILTER (WHERE t.event_type = 'WORK_RETRY' AND t.attempts < j.attempts) AS retried,
    count(*) FILTER (WHERE t.event_type = 'WORK_RETRY' AND t.attempts = j.attempts) AS given_up,
    count(*) FILTER (WHERE t.event_type = 'WORK_RETRY' AND t.attempts > j.attempts) AS after,
    CASE j.state WHEN 'completed' THEN coalesce(max(o.times), 0) ELSE 0 END AS late
  FROM jobs j LEFT JOIN told t ON t.work_id = 'w' || j.seq
    LEFT JOIN orphaned o ON o.order_key = 'w' || j.seq || '.' || j.winner GROUP BY j.seq`;

/** What is wrong with a job that must be done: nothing, if all is well. */
export function jobFaults(job: JobBook): string[] {
  if (job.state !== "completed") return [`is ${job.state}: ${job.outcome}`];
  const faults: string[] = [];
  if (job.completed !== 1) faults.push(`was completed ${job.completed} times`);
  if (job.claimed !== job.fence) faults.push(`was claimed ${job.claimed} times, its fence is ${job.fence}`);
  if (job.attempts !== job.retried + 1) faults.push(`has ${job.attempts} attempts after ${job.retried} retries`);
  // Others had the job after a holder that was the first: their tries may have the number of its own.
  const isOvertaken = job.winner < job.fence;
  if (isOvertaken ? job.late === 0 : job.given_up > job.late)
    faults.push(`was done by attempt ${job.attempts}, which was told to be tried again`);
  if (job.after > 0 && !isOvertaken) faults.push(`was tried again after attempt ${job.attempts}, which did it`);
  return faults;
}

import { assert, OperatingError } from "../kernel/index.ts";
import { insertRow } from "../router/sql-rows.ts";
import { defineOperation, defineStoreModule, type SqlValue, type Transaction } from "../router/store.port.ts";
import type { StoredJob } from "./job/job.ts";
import { MAX_BACKOFF_MS } from "./job/retry-rules.ts";
import { CURVE_LIMITS } from "./limits.ts";
import { workMigrations } from "./migrations.ts";

/** What can change in the life of a job. */
export const CHANGING = [
  "urgency",
  "state",
  "max_attempts",
  "attempts",
  "returns",
  "fence",
  "ready_at",
  "not_before",
  "node_id",
  "claimed_at",
  "started_at",
  "beat_by",
  "expires_at",
  "finished_at",
  "progress",
  "metrics",
  "stop_reason",
  "stop_by",
  "lapsed_attempts",
  "unheard",
  "earlier",
  "claim_id",
  "outcome",
  "saved",
] as const satisfies readonly (keyof StoredJob)[];
export type JobChanges = { readonly [K in (typeof CHANGING)[number]]?: StoredJob[K] };

/** What a new job is stored with, in this order. */
const NEW_COLUMNS = [
  "seq",
  "lane",
  "urgency",
  "state",
  "cost",
  "timeout_ms",
  "max_attempts",
  "queued_at",
  "ready_at",
  "deadline",
  "dedup_key",
  "batch_id",
  "requested_by",
] as const satisfies readonly (keyof StoredJob)[];

export interface NewJob {
  /** As in NEW_COLUMNS. */
  readonly row: readonly SqlValue[];
  readonly payload: string;
  /** JSON of the event that told of it: what follows from the job follows from it. */
  readonly cause?: string;
  readonly dependsOn?: readonly number[];
}

export interface LaneRow {
  readonly lane: number;
  readonly signature: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly needs: string;
  readonly targets: string | null;
  readonly excluded: string;
}

/** Changes of the same columns, written with one statement. */
export interface JobUpdates {
  readonly columns: readonly string[];
  /** Their new values, then the job's number, then the revision that the change was decided on. */
  readonly rows: readonly (readonly SqlValue[])[];
}

/** A row that was looked at and stays as it is. */
export interface RowCheck {
  readonly seq: number;
  readonly rev: number;
}

export interface ApplyWork {
  readonly at: number;
  readonly checks: readonly RowCheck[];
  readonly lanes: readonly LaneRow[];
  readonly added: readonly NewJob[];
  readonly updates: readonly JobUpdates[];
  /** Jobs among the updates whose dependents may go on. */
  readonly completed: readonly number[];
}

const conflict = (what: string) => OperatingError.busy("READ_CONFLICT", `${what} changed while it was decided on`);

const INSERT_JOB = `INSERT INTO work_jobs (${NEW_COLUMNS.join(", ")}, rev, attempts, returns, fence)
  VALUES (${NEW_COLUMNS.map(() => "?").join(", ")}, 1, 0, 0, 0) ON CONFLICT DO NOTHING`;
const STATE_AT = NEW_COLUMNS.indexOf("state");
const changing = new Set<string>(CHANGING);

const UNFINISHED_DEPENDENCY = `SELECT 1 FROM work_dependencies d JOIN work_jobs j ON j.seq = d.depends_on
  WHERE d.seq = ? AND j.state <> 'completed' LIMIT 1`;

/** Whether it waits is decided here, where nothing can complete between the look and the deed. */
function add(tx: Transaction, { row, payload, cause, dependsOn = [] }: NewJob): void {
  const seq = row[0]!;
  const values = [...row];
  for (const on of dependsOn) {
    const found = tx.get<{ state: string }>("SELECT state FROM work_jobs WHERE seq = ?", on);
    if (found === undefined) throw conflict(`job w${on}`);
    if (found.state !== "completed") values[STATE_AT] = "blocked";
    tx.run("INSERT INTO work_dependencies (seq, depends_on) VALUES (?, ?)", seq, on);
  }
  // Its dedup key is taken meanwhile: whoever adds it looks again and finds the other one.
  if (tx.run(INSERT_JOB, ...values).changes === 0) throw conflict("a job of that dedup key");
  tx.run("INSERT INTO work_inputs (seq, payload, cause) VALUES (?, ?, ?)", seq, payload, cause ?? null);
}

function update(tx: Transaction, { columns, rows }: JobUpdates): void {
  const sets = columns.map((column) => {
    assert(changing.has(column), `${column} of a job never changes`);
    return `${column} = ?`;
  });
  // A dedup key that was taken meanwhile is a conflict as well: what was decided without it is decided anew.
  const sql = `UPDATE OR IGNORE work_jobs SET rev = rev + 1, ${sets.join(", ")} WHERE seq = ? AND rev = ?`;
  for (const values of rows) if (tx.run(sql, ...values).changes === 0) throw conflict(`job w${values.at(-2)}`);
}

function unblock(tx: Transaction, seq: number, at: number): void {
  const waiting = tx.all<{ seq: number }>(
    `SELECT d.seq FROM work_dependencies d JOIN work_jobs j ON j.seq = d.seq
     WHERE d.depends_on = ? AND j.state = 'blocked'`,
    seq,
  );
  for (const one of waiting)
    if (tx.get(UNFINISHED_DEPENDENCY, one.seq) === undefined)
      tx.run("UPDATE work_jobs SET rev = rev + 1, state = 'pending', ready_at = ? WHERE seq = ?", at, one.seq);
}

/** Applies what was decided, if what it was decided on is still so; refuses all of it with READ_CONFLICT otherwise. */
export const applyWork = defineOperation<ApplyWork, void>(
  "work.apply",
  (tx, { at, checks, lanes, added, updates, completed }) => {
    for (const { seq, rev } of checks)
      if (tx.get<{ rev: number }>("SELECT rev FROM work_jobs WHERE seq = ?", seq)?.rev !== rev)
        throw conflict(`job w${seq}`);
    for (const lane of lanes) insertRow(tx, "work_lanes", lane, "ON CONFLICT (lane) DO NOTHING");
    for (const job of added) add(tx, job);
    for (const change of updates) update(tx, change);
    for (const seq of completed) unblock(tx, seq, at);
  },
);

/** Jobs whose backoff is over at `?1`. */
export const isDue = `state = 'delayed' AND (not_before <= ?1 OR not_before > ?1 + ${MAX_BACKOFF_MS})`;

/** Backoffs that are over. It says nothing, so it is decided where it is done. */
export const promoteDue = defineOperation<{ at: number; max: number }, void>("work.due", (tx, { at, max }) => {
  tx.run(
    `UPDATE work_jobs SET rev = rev + 1, state = 'pending', ready_at = ?1, not_before = NULL WHERE seq IN (
       SELECT seq FROM work_jobs WHERE ${isDue} ORDER BY not_before LIMIT ?2)`,
    at,
    max,
  );
});

export interface ForgetWork {
  readonly completedBefore: number;
  readonly failedBefore: number;
  readonly maxFinished: number;
  /** In one go, so that nobody waits long for the writer. */
  readonly max: number;
}

/**
 * Forgets finished jobs: those that are old, and the oldest of too many. The newest job of all stays, so that its number is
 * never given again; and so does a failed one while somebody still waits for it.
 */
export const forgetWork = defineOperation<ForgetWork, { forgotten: number }>("work.forget", (tx, args) => {
  const finished = tx.get<{ n: number }>(
    "SELECT coalesce(sum(jobs), 0) AS n FROM work_counts WHERE state IN ('completed', 'failed', 'cancelled')",
  )!.n;
  const tooMany = Math.max(0, finished - args.maxFinished);
  const old = (state: string, before: number, max: number) =>
    max <= 0
      ? []
      : tx.all<{ seq: number }>(
          `SELECT seq FROM work_jobs j WHERE state = ? AND finished_at < ?
             AND +seq < (SELECT max(seq) FROM work_jobs)
             AND NOT EXISTS (SELECT 1 FROM work_dependencies d JOIN work_jobs b ON b.seq = d.seq
               WHERE d.depends_on = j.seq AND b.state = 'blocked')
           ORDER BY finished_at LIMIT ?`,
          state,
          before,
          max,
        );
  const chosen = [
    ...old("completed", args.completedBefore, args.max),
    ...old("failed", args.failedBefore, args.max),
    ...old("cancelled", args.failedBefore, args.max),
  ];
  if (chosen.length < tooMany)
    for (const state of ["completed", "cancelled", "failed"])
      chosen.push(...old(state, Number.MAX_SAFE_INTEGER, Math.min(args.max, tooMany) - chosen.length));
  const seqs = [...new Set(chosen.map(({ seq }) => seq))].slice(0, args.max);
  for (const seq of seqs) {
    tx.run("DELETE FROM work_dependencies WHERE seq = ?", seq);
    tx.run("DELETE FROM work_dependencies WHERE depends_on = ?", seq);
    tx.run("DELETE FROM work_inputs WHERE seq = ?", seq);
    tx.run("DELETE FROM work_points WHERE seq = ?", seq);
    tx.run("DELETE FROM work_jobs WHERE seq = ?", seq);
  }
  return { forgotten: seqs.length };
});

export interface AppendPoints {
  readonly seq: number;
  readonly fence: number;
  readonly points: readonly { readonly at: number; readonly progress: number | null; readonly metrics: string }[];
}

/** When there are too many, every second point goes, then every second of those that are left: all that stay are as far apart. */
export const appendPoints = defineOperation<AppendPoints, void>("work.points", (tx, { seq, fence, points }) => {
  const before = tx.get<{ n: number }>("SELECT max(n) AS n FROM work_points WHERE seq = ?", seq)?.n ?? 0;
  for (const [i, { at, progress, metrics }] of points.entries())
    insertRow(tx, "work_points", { seq, n: before + 1 + i, fence, at, progress, metrics });
  const newest = before + points.length;
  let apart = 1;
  while (newest / apart >= CURVE_LIMITS.points) apart *= 2;
  if (apart > 1) tx.run("DELETE FROM work_points WHERE seq = ? AND n < ? AND n % ? <> 0", seq, newest, apart);
});

/** Lanes that no job stands in any more. */
export const forgetLanes = defineOperation<Record<never, never>, void>("work.forget_lanes", (tx) => {
  tx.run("DELETE FROM work_counts WHERE jobs = 0");
  tx.run("DELETE FROM work_lanes WHERE lane NOT IN (SELECT lane FROM work_counts)");
});

export const workModule = defineStoreModule({
  name: "work",
  migrations: workMigrations,
  operations: [applyWork, promoteDue, forgetWork, forgetLanes, appendPoints],
});

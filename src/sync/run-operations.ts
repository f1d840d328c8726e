import { defineOperation } from "../router/store.port.ts";
import { changed } from "./artifact-operations.ts";

export type RunState = "running" | "completed" | "failed";

/** A run of the artifact inspector: a batch of files that is looked through, or a model that is handed out. */
export interface RunRow {
  readonly run_id: string;
  readonly config_key: string;
  readonly model_id: string | null;
  readonly sha256: string | null;
  readonly state: RunState;
  readonly attempts: number;
  /** Milliseconds since the epoch. */
  readonly started_at: number;
  readonly ended_at: number | null;
  /** JSON. */
  readonly outcome: string | null;
}

export type BeginRun = Pick<RunRow, "run_id" | "config_key" | "model_id" | "sha256" | "attempts"> & {
  readonly at: number;
};

/** The first attempt of a run, or the next one after it has ended. Refused with READ_CONFLICT if somebody else began it. */
export const beginRun = defineOperation<BeginRun, void>("sync.begin_run", (tx, args) => {
  const { run_id, config_key, model_id, sha256, attempts, at } = args;
  const { changes } = tx.run(
    `INSERT INTO sync_runs (run_id, config_key, model_id, sha256, state, attempts, started_at)
     VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6)
     ON CONFLICT (run_id) DO UPDATE SET config_key = ?2, model_id = ?3, sha256 = ?4, state = 'running', attempts = ?5,
       started_at = ?6, ended_at = NULL, outcome = NULL
       WHERE sync_runs.state <> 'running' AND sync_runs.attempts = ?5 - 1`,
    run_id,
    config_key,
    model_id,
    sha256,
    attempts,
    at,
  );
  if (changes === 0) throw changed(`run ${run_id}`);
});

export interface EndRun {
  readonly run_id: string;
  readonly attempts: number;
  readonly state: Exclude<RunState, "running">;
  readonly outcome: string;
  readonly at: number;
}

export const endRun = defineOperation<EndRun, void>("sync.end_run", (tx, { run_id, attempts, state, outcome, at }) => {
  const { changes } = tx.run(
    `UPDATE sync_runs SET state = ?, outcome = ?, ended_at = ? WHERE run_id = ? AND attempts = ? AND state = 'running'`,
    state,
    outcome,
    at,
    run_id,
    attempts,
  );
  if (changes === 0) throw changed(`run ${run_id}`);
});

/** Their games are announced, each once. */
export const noteAnnounced = defineOperation<{ sha256s: readonly string[]; at: number }, void>(
  "sync.announced",
  (tx, { sha256s, at }) => {
    for (const sha256 of sha256s) {
      const sql = "UPDATE sync_artifacts SET announced_at = ? WHERE sha256 = ? AND announced_at IS NULL";
      if (tx.run(sql, at, sha256).changes === 0) throw changed(`artifact ${sha256}`);
    }
  },
);

import { defineOperation } from "../../router/store.port.ts";
import type { BackupKind } from "./words.ts";

/** Something that was done about backups. Times are milliseconds since the epoch. */
export interface BackupTaskRow {
  readonly task_id: string;
  readonly kind: BackupKind;
  readonly place: string;
  readonly state: "running" | "completed" | "failed";
  readonly requested_by: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** JSON: what came of it, or why nothing did. */
  readonly report: string | null;
  readonly error: string | null;
  /** Whether it was emitted. */
  readonly told: number;
}

export const beginBackupTask = defineOperation<
  Pick<BackupTaskRow, "task_id" | "kind" | "place" | "requested_by" | "started_at">,
  void
>("sync.begin_backup_task", (tx, { task_id, kind, place, requested_by, started_at }) => {
  // One that the process before this one did not end has failed with it: there is one main process and one task at a time.
  tx.run(
    `UPDATE sync_backup_tasks SET state = 'failed', ended_at = ?1, error = '{"code":"BACKUP_INTERRUPTED","message":"the process ended"}'
     WHERE state = 'running'`,
    started_at,
  );
  tx.run(
    `INSERT INTO sync_backup_tasks (task_id, kind, place, state, requested_by, started_at, told)
     VALUES (?, ?, ?, 'running', ?, ?, 0)`,
    task_id,
    kind,
    place,
    requested_by,
    started_at,
  );
});

export const endBackupTask = defineOperation<
  Pick<BackupTaskRow, "task_id" | "report" | "error"> & { state: "completed" | "failed"; at: number },
  void
>("sync.end_backup_task", (tx, { task_id, state, report, error, at }) => {
  tx.run(
    `UPDATE sync_backup_tasks SET state = ?, report = ?, error = ?, ended_at = ? WHERE task_id = ? AND state = 'running'`,
    state,
    report,
    error,
    at,
    task_id,
  );
});

export const noteBackupsTold = defineOperation<{ taskIds: readonly string[] }, void>(
  "sync.note_backups_told",
  (tx, { taskIds }) => {
    for (const id of taskIds) tx.run("UPDATE sync_backup_tasks SET told = 1 WHERE task_id = ?", id);
  },
);

/** The last of each sort that succeeded stays, however old: it says when that was. */
export const forgetBackupTasks = defineOperation<{ before: number }, void>(
  "sync.forget_backup_tasks",
  (tx, { before }) => {
    tx.run(
      `DELETE FROM sync_backup_tasks WHERE ended_at < ? AND told = 1 AND rowid NOT IN
         (SELECT max(rowid) FROM sync_backup_tasks WHERE state = 'completed' GROUP BY kind, place)`,
      before,
    );
  },
);

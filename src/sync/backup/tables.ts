import { defineStoreModule } from "../../router/store.port.ts";
import { beginBackupTask, endBackupTask, forgetBackupTasks, noteBackupsTold } from "./task-operations.ts";

/** What is kept of backups. */
export const backupModule = defineStoreModule({
  name: "backup",
  migrations: [
    {
      id: 1,
      name: "what was done about backups",
      sql: `
        CREATE TABLE sync_backup_tasks (
          task_id TEXT NOT NULL UNIQUE,
          kind TEXT NOT NULL CHECK (kind IN ('run', 'verify', 'prune', 'drill')),
          place TEXT NOT NULL,
          state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed')),
          requested_by TEXT NOT NULL,
          started_at INTEGER NOT NULL,
          ended_at INTEGER,
          report TEXT,
          error TEXT,
          told INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX sync_backup_tasks_of_place ON sync_backup_tasks (kind, place, started_at);
        CREATE INDEX sync_backup_tasks_started ON sync_backup_tasks (started_at);
      `,
    },
    {
      id: 2,
      name: "tasks have a key",
      // Replicas are kept equal by changes of rows, and those are known by their key.
      sql: `
        CREATE TABLE sync_backup_tasks_with_key (
          task_id TEXT PRIMARY KEY,
          kind TEXT NOT NULL CHECK (kind IN ('run', 'verify', 'prune', 'drill')),
          place TEXT NOT NULL,
          state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed')),
          requested_by TEXT NOT NULL,
          started_at INTEGER NOT NULL,
          ended_at INTEGER,
          report TEXT,
          error TEXT,
          told INTEGER NOT NULL
        ) STRICT;
        INSERT INTO sync_backup_tasks_with_key SELECT * FROM sync_backup_tasks;
        DROP TABLE sync_backup_tasks;
        ALTER TABLE sync_backup_tasks_with_key RENAME TO sync_backup_tasks;
        CREATE INDEX sync_backup_tasks_of_place ON sync_backup_tasks (kind, place, started_at);
        CREATE INDEX sync_backup_tasks_started ON sync_backup_tasks (started_at);
      `,
    },
  ],
  operations: [beginBackupTask, endBackupTask, noteBackupsTold, forgetBackupTasks],
});

import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { BACKUP_KINDS } from "../../sync/backup/words.ts";
import { name, time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "backups";
const count = lazy(() => z.int().min(0));

const progress = lazy(() =>
  z.object({
    phase: z.string().describe("What it is at: snapshot, copy, check, fetch, remove."),
    files: count(),
    files_done: count(),
    bytes: count(),
    bytes_done: count(),
  }),
);

const task = lazy(() =>
  z
    .object({
      task_id: z.string(),
      kind: z.enum(BACKUP_KINDS),
      place: z.string(),
      state: z.enum(["running", "completed", "failed"]),
      requested_by: z.string(),
      started_at: time,
      ended_at: time.nullable(),
      progress: progress().nullable(),
      report: z.looseObject({}).nullable().describe("What came of it."),
      error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }).nullable(),
    })
    .meta({ id: "BackupTask" }),
);

const place = lazy(() =>
  z
    .object({
      place: z.string(),
      where: z.string(),
      backed_up_at: time.nullable().describe("When the last backup began that succeeded."),
      backup_failures: count().describe("Since then."),
      drilled_at: time.nullable().describe("When the last drill began that succeeded."),
      drill_failures: count(),
    })
    .meta({ id: "BackupPlace" }),
);

export const listBackupTasks = defineRoute("listBackupTasks", "GET /v1/backups", {
  tag,
  summary: "The places for backups, the age of the last backup and drill at each, and the latest tasks.",
  query: () => z.strictObject({ limit: whole(1, 1_000).default(20) }),
  about: "Places, and tasks, newest first.",
  answer: () =>
    z.object({
      places: z.array(place()),
      encrypted: z.boolean(),
      tasks: z.array(task()),
    }),
});

export const showBackupTask = defineRoute("showBackupTask", "GET /v1/backups/{id}", {
  tag,
  summary: "One task, with its progress and its result.",
  params: () => z.strictObject({ id: name }),
  about: "The task.",
  answer: task,
});

export const startBackupTask = defineRoute("startBackupTask", "POST /v1/backups", {
  tag,
  summary: "Makes a backup, verifies one, restores one for a drill, or deletes old ones. The answer comes at once.",
  bound: "one at a time",
  body: () =>
    z.strictObject({
      kind: z.enum(BACKUP_KINDS),
      place: name.optional().describe("By its name; the first unless given."),
      backup: name
        .optional()
        .describe("For `verify` and `drill`: its id, or the beginning of it; the newest unless given."),
      read: z
        .boolean()
        .optional()
        .describe("For `verify`: read every byte, which is the default; else the listing alone."),
      dry_run: z.boolean().optional().describe("For `prune`: only say what would go."),
      max_files: z.int().min(1).max(1_000_000).optional().describe("For `prune`: files that may go at most."),
    }),
  about: "The task that began.",
  answer: task,
});

export type BackupTaskShown = Answer<typeof showBackupTask>;
export type BackupStatus = Answer<typeof listBackupTasks>;

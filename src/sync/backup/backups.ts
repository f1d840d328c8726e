/** Backups as the main process sees them: what is asked for, how far it is, and what came of it. The work is done on threads. */
import { type Clock, type Ids, isOperatingError, messageOf, OperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { Retention } from "./decide.ts";
import type { BackedUpFolder, BackupPlace, BackupRunner, BackupTask } from "./task.ts";
import { type BackupTaskRow, beginBackupTask, endBackupTask } from "./task-operations.ts";
import type { BackupKind } from "./words.ts";
import type { BackupProgress } from "./world.ts";

export interface BackupAsk {
  readonly kind: BackupKind;
  /** By its name; the first one unless given. */
  readonly place?: string | undefined;
  readonly backup?: string | undefined;
  readonly read?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly maxFiles?: number | undefined;
}

export type BackupTaskView = BackupTaskRow & { readonly progress: BackupProgress | null };

/** How one sort of task did at one place. */
export interface BackupPast {
  readonly last: BackupTaskRow | undefined;
  readonly succeededAt: number | null;
  /** In a row, up to now. */
  readonly failures: number;
}

export interface DrillReport {
  readonly backup_id: string;
  readonly files: number;
  readonly bytes: number;
  readonly books_equal: boolean;
}

export interface BackupsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly places: readonly BackupPlace[];
  readonly secret: string | undefined;
  readonly folder: BackedUpFolder;
  readonly retention: Retention;
  /** A folder for what is in between; what is left in it is removed. */
  readonly scratch: string;
  readonly run: BackupRunner;
  /** Restores a backup into a folder of its own, starts from it, and looks at its books. */
  readonly drill: (
    at: { readonly place: BackupPlace; readonly secret: string | undefined; readonly backup: string | undefined },
    options: Parameters<BackupRunner>[1],
  ) => Promise<DrillReport>;
}

const noPlace = () =>
  OperatingError.invalid("BACKUP_NO_PLACE", "no place for backups is set", {
    hint: "Set RINGRIFT_BACKUP_FOLDER to a folder on another disk, or RINGRIFT_BACKUP_S3_URL; docs/54-backups.md tells more.",
  });

/** The place of this name, or the first. */
export function placeNamed(places: readonly BackupPlace[], name: string | undefined): BackupPlace {
  const found = name === undefined ? places[0] : places.find((place) => place.name === name);
  if (found !== undefined) return found;
  if (places.length === 0) throw noPlace();
  throw OperatingError.notFound("BACKUP_NO_PLACE", `there is no place '${name}' for backups`, {
    hint: `There is: ${places.map((place) => place.name).join(", ")}.`,
  });
}

export function createBackups(ports: BackupsPorts) {
  const { store, clock, ids, places, secret, folder, retention, scratch, run, drill } = ports;
  let running:
    | {
        readonly id: string;
        readonly name: string | undefined;
        progress: BackupProgress | null;
        readonly done: Promise<void>;
      }
    | undefined;
  const ending = new AbortController();
  /** What two who ask mean the same by. */
  const nameOf = ({ kind, backup = "newest" }: BackupAsk, place: BackupPlace) =>
    kind === "run" || kind === "drill" ? `${kind} ${place.name} ${backup}` : undefined;

  const read = (sql: string, ...values: (string | number)[]) => store.read<BackupTaskRow>(sql, ...values);
  /** What this process does not run any more has ended with the one before. */
  const view = (row: BackupTaskRow): BackupTaskView => {
    if (row.state !== "running") return { ...row, progress: null };
    if (running?.id === row.task_id) return { ...row, progress: running.progress };
    const error = JSON.stringify({ code: "BACKUP_INTERRUPTED", message: "the process ended before it did" });
    return { ...row, state: "failed", error, progress: null };
  };
  const past = (kind: BackupKind, place: string): BackupPast => {
    const rows = read(
      "SELECT * FROM sync_backup_tasks WHERE kind = ? AND place = ? ORDER BY started_at DESC, task_id DESC LIMIT 100",
      kind,
      place,
    ).map(view);
    const at = rows.findIndex(({ state }) => state === "completed");
    const tried = at === -1 ? rows : rows.slice(0, at);
    return {
      last: rows[0],
      succeededAt: rows[at]?.started_at ?? null,
      failures: tried.filter(({ state }) => state === "failed").length,
    };
  };
  const taskOf = (ask: BackupAsk, place: BackupPlace, isFirst: boolean): BackupTask => {
    const at = { place, secret };
    if (ask.kind === "run") return { kind: "run", ...at, ...folder, scratch, isFirst };
    if (ask.kind === "verify") return { kind: "verify", ...at, backup: ask.backup, read: ask.read ?? true };
    return { kind: "prune", ...at, ...retention, dryRun: ask.dryRun ?? false, maxFiles: ask.maxFiles };
  };

  const carryOut = async (id: string, ask: BackupAsk, place: BackupPlace, note: (progress: BackupProgress) => void) => {
    const options = { signal: ending.signal, onProgress: note };
    try {
      const isFirst = past("run", place.name).succeededAt === null;
      const report =
        ask.kind === "drill"
          ? await drill({ place, secret, backup: ask.backup }, options)
          : await run(taskOf(ask, place, isFirst), options);
      await store.commit([
        endBackupTask({
          task_id: id,
          state: "completed",
          report: JSON.stringify(report),
          error: null,
          at: clock.now(),
        }),
      ]);
    } catch (thrown) {
      // What ends with the process is told by the next one.
      if (ending.signal.aborted) return;
      const { code, hint } = isOperatingError(thrown) ? thrown : { code: "BACKUP_FAILED", hint: undefined };
      const error = JSON.stringify({ code, message: messageOf(thrown), hint });
      await store.commit([endBackupTask({ task_id: id, state: "failed", report: null, error, at: clock.now() })]);
    } finally {
      running = undefined;
    }
  };

  return {
    places,
    isSealed: secret !== undefined,
    isBusy: () => running !== undefined,
    past,
    /**
     * Begins it, and gives its id at once. One at a time: two would only take each other's disk and line. Who asks for a backup while
     * one is made is given that one.
     */
    async start(ask: BackupAsk, by: string): Promise<string> {
      const place = placeNamed(places, ask.place);
      if (running?.name !== undefined && running.name === nameOf(ask, place)) return running.id;
      if (running !== undefined)
        throw OperatingError.busy("BACKUP_BUSY", "a task about backups runs already", {
          status: 409,
          hint: "'ringrift backup status' shows how far it is.",
        });
      const id = ids.uuid();
      const done = Promise.withResolvers<void>();
      running = { id, name: nameOf(ask, place), progress: null, done: done.promise };
      try {
        await store.commit([
          beginBackupTask({
            task_id: id,
            kind: ask.kind,
            place: place.name,
            requested_by: by,
            started_at: clock.now(),
          }),
        ]);
      } catch (thrown) {
        running = undefined;
        done.resolve();
        throw thrown;
      }
      const note = (progress: BackupProgress) => {
        if (running !== undefined && running.id === id) running.progress = progress;
      };
      carryOut(id, ask, place, note).then(done.resolve, done.resolve);
      return id;
    },
    show(id: string): BackupTaskView {
      const [row] = read("SELECT * FROM sync_backup_tasks WHERE task_id = ?", id);
      if (row === undefined)
        throw OperatingError.notFound("BACKUP_TASK_NOT_FOUND", `there is no task '${id}' about backups`, {
          hint: "'ringrift backup status' lists them.",
        });
      return view(row);
    },
    /** Newest first. */
    list: (limit: number): BackupTaskView[] =>
      read("SELECT * FROM sync_backup_tasks ORDER BY started_at DESC, task_id DESC LIMIT ?", limit).map(view),
    /** What has ended and was not emitted yet, oldest first. */
    untold: (): BackupTaskRow[] =>
      read(
        "SELECT * FROM sync_backup_tasks WHERE told = 0 AND state <> 'running' ORDER BY started_at, task_id LIMIT 20",
      ),
    async close(): Promise<void> {
      ending.abort(new Error("the process ends"));
      await running?.done;
    },
  };
}

export type Backups = ReturnType<typeof createBackups>;

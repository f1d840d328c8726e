import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { isOperatingError } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import { backupLimits } from "../../backup/limits.ts";
import type { BackupReport } from "../../backup/run-backup.ts";
import { type BackupTaskRow, forgetBackupTasks, noteBackupsTold } from "../../backup/task-operations.ts";
import type { SyncUnitServices } from "../../services.ts";
import { backupTrouble, nextTask, type PlacePast } from "./decide.ts";

const wiring = {
  name: "backup_daemon",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["S3_BACKUP", "EXTERNAL_DRIVE_SYNC"],
  alsoKnownAs: ["S3BackupDaemon"],
  dependsOn: ["replication_daemon"],
  emits: ["DATA_BACKUP_COMPLETED", "S3_BACKUP_COMPLETED", "HEALTH_ALERT"],
} as const satisfies Wiring;

/** What was told of each place: the trouble, or that there is none. */
const told = defineTable<{ trouble: string | null; since: number }>("sync_backup_alarms");

interface Cache {
  /** Since when this process looks: nothing is overdue before it had its time. */
  since: number | null;
  /** A champion was made that no backup holds. */
  isWoken: boolean;
  troubles: readonly string[];
}
type Context = ContextOf<typeof wiring, Cache>;
type NodeId = PayloadFor<"S3_BACKUP_COMPLETED">["node_id"];
type ModelId = NonNullable<PayloadFor<"S3_BACKUP_COMPLETED">["model_ids"]>[number];

const BY = "backup_daemon";
const NOTHING_SET = "no place is set: nothing is backed up";

/**
 * Sees to it that there is a backup, that it is young, and that it can be restored: it begins backups when they are due or a champion
 * was made, takes old ones away, drills a restore now and then, and calls a person when one of that does not happen.
 */
export const backupDaemon = ({ backups, backupPace: pace, nodeId }: SyncUnitServices, limits = backupLimits) => {
  const pastOf = (place: string): PlacePast => {
    const run = backups.past("run", place);
    const pruned = backups.past("prune", place).last?.started_at ?? 0;
    const isPruneOwed = run.last?.state === "completed" && run.last.started_at > pruned;
    return { place, run, drill: backups.past("drill", place), isPruneOwed };
  };

  const emitDone = ({ emit }: Context, task: BackupTaskRow): void => {
    if (task.kind !== "run" || task.state !== "completed") return;
    const report = JSON.parse(task.report!) as BackupReport;
    const place = backups.places.find(({ name }) => name === task.place);
    const about = {
      node_id: nodeId as NodeId,
      artifacts: report.files,
      bytes_transferred: report.copied_bytes,
      duration_seconds: Math.max(0, (task.ended_at ?? task.started_at) - task.started_at) / 1_000,
    };
    if (place?.transport === "s3")
      emit.S3_BACKUP_COMPLETED({ ...about, bucket: place.bucket, model_ids: report.models as ModelId[] });
    else emit.DATA_BACKUP_COMPLETED({ ...about, data_type: "all", destination: task.place });
  };

  const emitEnded = (context: Context): void => {
    const ended = backups.untold();
    if (ended.length === 0) return;
    context.rows.apply(noteBackupsTold({ taskIds: ended.map(({ task_id }) => task_id) }));
    for (const task of ended) emitDone(context, task);
  };

  /** Each trouble is told when it begins, when it is another, and when it is over. */
  const emitTroubles = ({ emit, rows, cache, now }: Context, pasts: readonly PlacePast[]): void => {
    const troubles: string[] = [];
    for (const past of pasts) {
      const trouble = backupTrouble(past, pace, limits, cache.since!, now);
      if (trouble !== null) troubles.push(trouble);
      const known = rows.get(told, past.place);
      if ((known?.trouble ?? null) === trouble) continue;
      rows.put(told, past.place, { trouble, since: now });
      const component = `backup ${past.place}`;
      const message = trouble ?? `'${past.place}' is backed up again`;
      emit.HEALTH_ALERT({ component, severity: trouble === null ? "info" : "error", message });
    }
    cache.troubles = troubles;
  };

  const tick = async (context: Context): Promise<void> => {
    const { cache, now, rows } = context;
    cache.since ??= now;
    emitEnded(context);
    const pasts = backups.places.map(({ name }) => pastOf(name));
    emitTroubles(context, pasts);
    rows.apply(forgetBackupTasks({ before: now - limits.keepTasksMs }));
    const next = backups.isBusy() ? undefined : nextTask(pasts, pace, limits, cache.isWoken, now);
    if (next === undefined) return;
    if (next.kind === "run") cache.isWoken = false;
    // Not in the commit of this look: what it begins has rows of its own. Somebody else may have been quicker.
    await backups.start(next, BY).catch((thrown: unknown) => {
      if (!isOperatingError(thrown, "BACKUP_BUSY")) throw thrown;
    });
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { told }, cache: (): Cache => ({ since: null, isWoken: false, troubles: [] }) },
    on: {
      MODEL_PROMOTED(_, { cache }) {
        cache.isWoken = true;
      },
    },
    loop: { everyMs: limits.everyMs, tick },
    health: ({ cache }) => {
      if (backups.places.length === 0) return { status: "running", message: NOTHING_SET };
      const [trouble] = cache.troubles;
      return trouble === undefined ? { status: "running", message: "" } : { status: "degraded", message: trouble };
    },
  });
};

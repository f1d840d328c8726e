import type { Backups } from "../../sync/index.ts";
import { handle, type Route } from "../http/route.ts";
import * as wire from "./wire.ts";

const parsed = (text: string | null) => (text === null ? null : (JSON.parse(text) as never));

const viewOf = ({ report, error, told: _, ...row }: ReturnType<Backups["show"]>) => ({
  ...row,
  report: parsed(report),
  error: parsed(error),
});

/** Where a place is, without what opens it. */
const whereOf = (place: Backups["places"][number]): string =>
  place.transport === "folder" ? place.path : `${place.endpoint}/${place.bucket}/${place.prefix ?? ""}`;

export const backupRoutes: readonly Route[] = [
  handle(wire.listBackupTasks, ({ ports: { backups }, query: { limit } }) => ({
    encrypted: backups.isSealed,
    places: backups.places.map((place) => {
      const [run, drill] = [backups.past("run", place.name), backups.past("drill", place.name)];
      return {
        place: place.name,
        where: whereOf(place),
        backed_up_at: run.succeededAt,
        backup_failures: run.failures,
        drilled_at: drill.succeededAt,
        drill_failures: drill.failures,
      };
    }),
    tasks: backups.list(limit).map(viewOf),
  })),
  handle(wire.showBackupTask, ({ ports: { backups }, params: { id } }) => viewOf(backups.show(id))),
  handle(wire.startBackupTask, async ({ ports: { backups }, body, caller: { actor } }) => {
    const { kind, place, backup, read, dry_run: dryRun, max_files: maxFiles } = body;
    return viewOf(backups.show(await backups.start({ kind, place, backup, read, dryRun, maxFiles }, actor)));
  }),
];

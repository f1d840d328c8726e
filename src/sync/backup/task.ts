/** Something to be done about backups, as data: it is sent to a thread of its own, which ends with it. */
import type { Source } from "../transport.port.ts";
import type { PruneOrder, PruneReport } from "./prune-backups.ts";
import type { RestoreOrder, RestoreReport } from "./restore-backup.ts";
import type { BackupReport } from "./run-backup.ts";
import type { VerifyReport } from "./verify-backup.ts";
import type { BackupProgress, BackupView } from "./world.ts";

/** A disk or a bucket for backups, by the name that settings give it. */
export type BackupPlace = Extract<Source, { readonly transport: "folder" | "s3" }> & { readonly name: string };

interface AtPlace {
  readonly place: BackupPlace;
  readonly secret: string | undefined;
}

/** What this machine has to back up. */
export interface BackedUpFolder {
  readonly nodeId: string;
  readonly version: string;
  readonly dataDir: string;
  readonly database: string;
  readonly artifacts: string;
  /** Beside the data folder: settings, certificates. */
  readonly otherFiles: readonly string[];
}

export type BackupTask = AtPlace &
  (
    | ({
        readonly kind: "run";
        readonly scratch: string;
        /** Nothing was ever backed up there: the place may be made ours. */
        readonly isFirst: boolean;
      } & BackedUpFolder)
    | { readonly kind: "list" }
    | { readonly kind: "verify"; readonly backup: string | undefined; readonly read: boolean }
    | ({ readonly kind: "prune" } & PruneOrder)
    | ({ readonly kind: "restore" } & Omit<RestoreOrder, "random">)
  );

export interface BackupReports {
  readonly run: BackupReport;
  readonly list: readonly BackupView[];
  readonly verify: VerifyReport;
  readonly prune: PruneReport;
  readonly restore: RestoreReport;
}

/** Does a task on a thread. */
export type BackupRunner = <T extends BackupTask>(
  task: T,
  options: { readonly signal: AbortSignal; readonly onProgress?: (progress: BackupProgress) => void },
) => Promise<BackupReports[T["kind"]]>;

/** Takes old backups away, and what no other one needs. The only part that deletes at a place, and only by hand or by retention. */

import { planPrune, type Retention } from "./decide.ts";
import { MAX_PRUNED } from "./limits.ts";
import { openBackups } from "./manifest.ts";
import { type BackupWorld, openPlace, progressOf } from "./world.ts";

export interface PruneOrder extends Retention {
  readonly dryRun: boolean;
  readonly maxFiles?: number | undefined;
}

export interface PruneReport {
  readonly place: string;
  readonly dry_run: boolean;
  readonly backups: readonly string[];
  readonly files: number;
  readonly bytes: number;
  /** More could go than one call takes. */
  readonly more: boolean;
  readonly refused: string | null;
}

export async function pruneBackups(world: BackupWorld, order: PruneOrder): Promise<PruneReport> {
  const { transport, clock, signal } = world;
  const { shelf, keys, names, listed } = await openPlace(world);
  const found = await openBackups(names, shelf, keys, signal);
  const maxFiles = order.maxFiles ?? MAX_PRUNED;
  const plan = planPrune(found, listed, { ...order, maxFiles, now: clock.now() });
  if (!order.dryRun) {
    const progress = progressOf(world, "remove");
    progress.begin([...plan.backups, ...plan.files]);
    // The manifest first: no backup may promise what is gone.
    for (const { name, bytes } of [...plan.backups, ...plan.files]) {
      await shelf.remove(name, signal);
      progress.moved(bytes);
      progress.fileDone();
    }
    progress.end();
  }
  return {
    place: transport.place,
    dry_run: order.dryRun,
    backups: plan.backups.map(({ backupId }) => backupId),
    files: plan.files.length,
    bytes: plan.files.reduce((sum, { bytes }) => sum + bytes, 0),
    more: plan.more,
    refused: plan.refused,
  };
}

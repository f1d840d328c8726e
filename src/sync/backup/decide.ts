/** Which backups stay, what may go with the others, and when the next one is due. */

import type { Shelved } from "../transport.port.ts";
import { type FoundBackup, nameOfArtifact, partsOf } from "./manifest.ts";

export interface Retention {
  /** So many of the newest stay, however old. */
  readonly keep: number;
  /** And all that are younger than this. */
  readonly keepMs: number;
}

export interface PrunePlan {
  /** Backups that go, oldest first, and what no other one needs. */
  readonly backups: readonly FoundBackup[];
  readonly files: readonly Shelved[];
  /** More could go than one call takes. */
  readonly more: boolean;
  /** Why nothing goes at all. */
  readonly refused: string | null;
}

const nothing = (refused: string): PrunePlan => ({ backups: [], files: [], more: false, refused });

/**
 * What may go. A backup that cannot be read may need any file, and a listing that lacks what a sound backup names is no
 * listing to conclude anything from: then everything stays.
 */
export function planPrune(
  found: readonly FoundBackup[],
  listed: readonly Shelved[],
  { keep, keepMs, maxFiles, now }: Retention & { readonly maxFiles: number; readonly now: number },
): PrunePlan {
  const unread = found.find(({ error }) => error !== undefined);
  if (unread !== undefined) return nothing(`the backup ${unread.backupId} cannot be read: ${unread.error!.message}`);
  if (found.length === 0) return nothing("there is no backup here, so nobody can tell what is needed");
  const byAge = [...found].sort((a, b) => (a.backupId < b.backupId ? 1 : -1));
  const staying = byAge.filter(({ manifest }, place) => place < keep || now - manifest!.made_at < keepMs);
  const going = byAge.filter((one) => !staying.includes(one)).reverse();
  const sizes = new Map(listed.map(({ name, bytes }) => [name, bytes]));
  const needed = new Set<string>();
  for (const { manifest, backupId } of staying)
    for (const part of partsOf(manifest!)) {
      const name = nameOfArtifact(part);
      if (sizes.get(name) !== part.bytes)
        return nothing(`the listing lacks ${name}, which the backup ${backupId} needs`);
      needed.add(name);
    }
  const manifests = new Set(found.map(({ name }) => name));
  const free = listed.filter(({ name }) => !needed.has(name) && !manifests.has(name) && !name.startsWith("backups/"));
  return { backups: going, files: free.slice(0, maxFiles), more: free.length > maxFiles, refused: null };
}

/** What was done last of one sort, at one place. */
export interface LastTask {
  readonly state: "running" | "completed" | "failed";
  readonly started_at: number;
  readonly ended_at: number | null;
}

export interface DueRules {
  readonly everyMs: number;
  /** After a failure it is tried again so soon, each time later, up to `everyMs`. */
  readonly retryMs: number;
  /** What was begun so lately is not begun again, whoever asks. */
  readonly spacingMs: number;
}

/** Whether it is time. `isWoken`: something has happened that is worth a backup of its own. */
export function isDue(
  last: LastTask | undefined,
  failures: number,
  isWoken: boolean,
  now: number,
  { everyMs, retryMs, spacingMs }: DueRules,
): boolean {
  if (last === undefined) return true;
  if (last.state === "running") return false;
  const since = now - last.started_at;
  if (since < 0) return false;
  if (last.state === "failed") return since >= Math.min(everyMs, retryMs * 2 ** Math.min(failures - 1, 10));
  return since >= everyMs || (isWoken && since >= spacingMs);
}

/** How long nothing has succeeded, and whether that is too long: twice the time that it should take. */
export const isOverdue = (succeededAt: number | null, watchedSince: number, everyMs: number, now: number): boolean =>
  now - Math.max(succeededAt ?? 0, succeededAt === null ? watchedSince : 0) > 2 * everyMs;

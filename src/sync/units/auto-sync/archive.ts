/** OWC_IMPORT: a drive with an archive is one more source of games, for configs that have few. */
import { join } from "node:path";
import type { UnitContext } from "../../../daemons/index.ts";
import { messageOf } from "../../../kernel/index.ts";
import { defineTable, type Store } from "../../../router/index.ts";
import type { Archive } from "../../brought/archive.ts";
import { policyLimits } from "../../limits.ts";
import { type Orphan, orphans } from "../../orphans/orphan.ts";

/** Files of the archive that were taken or refused, by the hash of their bytes. Written by `auto_sync`. */
export const archived = defineTable<{ readonly games: number; readonly why: string | null; readonly at: number }>(
  "sync_archived",
);

/** Games that are there to learn from, of each config. */
const RICH = `SELECT config_key, sum(games) AS games FROM sync_artifacts
  WHERE kind = 'games' AND freed_at IS NULL AND state IN ('in_flight', 'durable') GROUP BY config_key`;

/** What comes next: the poorest config first, and in it the files with the most games. */
export function nextOfArchive(
  offered: readonly Orphan[],
  gamesOf: ReadonlyMap<string, number>,
  { poorGames, archiveFiles }: Pick<typeof policyLimits, "poorGames" | "archiveFiles">,
): Orphan[] {
  const has = ({ config_key }: Orphan) => gamesOf.get(config_key ?? "") ?? 0;
  return offered
    .filter((orphan) => orphan.config_key !== null && has(orphan) < poorGames)
    .sort((a, b) => has(a) - has(b) || b.games - a.games || (a.sha256 < b.sha256 ? -1 : 1))
    .slice(0, archiveFiles);
}

interface Taken {
  readonly sha256: string;
  readonly games: number;
  readonly why: string | null;
}

/** How far it is. A file may take minutes to be played through, so it comes in behind the back of the round that asked for it. */
export interface ArchiveRun {
  /** When the archive is looked at next, in milliseconds since the epoch. */
  nextAt: number;
  isBusy: boolean;
  /** What came of files and is not written down yet. */
  readonly taken: Taken[];
}
export const newArchiveRun = (): ArchiveRun => ({ nextAt: 0, isBusy: false, taken: [] });

type Context = Pick<UnitContext<never>, "rows" | "now" | "log" | "afterCommit"> & {
  readonly cache: { readonly archive: ArchiveRun };
};

async function bringAll(archive: Archive, next: readonly Orphan[], run: ArchiveRun, { log, now }: Context) {
  for (const { folder, name, sha256, config_key } of next)
    try {
      const came = await archive.bring(join(folder, name), new AbortController().signal);
      run.taken.push({ sha256, ...came });
      log.info("games of the archive were taken", { file: name, config_key, ...came });
    } catch (thrown) {
      // A disk of ours that is full, or a drive that is gone, says nothing about the file: it is tried after the pause.
      run.nextAt = now + policyLimits.archiveEveryMs;
      log.warn("a file of the archive could not be taken", { file: name, error: messageOf(thrown) });
      return;
    }
}

/** Takes some files of the watched folder; when none is left that is wanted, it looks again after its pause. */
export async function importArchive(
  { store, archive }: { readonly store: Pick<Store, "scan" | "read">; readonly archive: Archive },
  context: Context,
): Promise<void> {
  const { rows, cache, now, afterCommit } = context;
  const { archive: run } = cache;
  const noted = run.taken.length;
  for (const { sha256, games, why } of run.taken) rows.put(archived, sha256, { games, why, at: now });
  afterCommit(() => void run.taken.splice(0, noted));
  if (run.isBusy || now < run.nextAt) return;
  const listed = store
    .read<{ value: string }>("SELECT value FROM state_rows WHERE table_name = ?", orphans.table)
    .map(({ value }) => JSON.parse(value) as Orphan);
  const isListed = new Set(listed.map(({ sha256 }) => sha256));
  for (const [key] of rows.list(archived)) if (!isListed.has(key)) rows.delete(archived, key);
  const offered = listed.filter(({ rule, sha256 }) => rule === "offer" && rows.get(archived, sha256) === undefined);
  const rich = await store.scan<{ config_key: string | null; games: number }>(RICH);
  const gamesOf = new Map(rich.map(({ config_key, games }) => [config_key ?? "", games]));
  const next = nextOfArchive(offered, gamesOf, policyLimits);
  if (next.length === 0) {
    run.nextAt = now + policyLimits.archiveEveryMs;
    return;
  }
  run.isBusy = true;
  void bringAll(archive, next, run, context).finally(() => {
    run.isBusy = false;
  });
}

import type { Clock } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import type { ArtifactRow } from "./artifact.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import { disownFile, forgetArtifacts, freeArtifacts, noteRemoved } from "./keep-operations.ts";
import { PREFIXES, type StoredFile } from "./stored-files.ts";

export interface SweepPolicy {
  /** How long a file stays after the last one let go of it, asked for it or judged it. */
  readonly graceMs: number;
  /** How long a file that nobody recorded stays, and a part that nobody went on with. */
  readonly strayGraceMs: number;
  /** How long damaged files lie in quarantine. */
  readonly quarantineMs: number;
  /** How long the row of a file that is gone is kept, and with it its history. */
  readonly keepRowsMs: number;
  /** Beyond so many rows, those of files that are gone are forgotten sooner. */
  readonly mostRows: number;
  /** Files of one call, of each sort. */
  readonly most: number;
  /** Folders, of 256, that one call looks through for files that nobody recorded. */
  readonly folders: number;
}

const HOUR = 3_600_000;

export const sweepDefaults: SweepPolicy = {
  graceMs: HOUR,
  strayGraceMs: 7 * 24 * HOUR,
  quarantineMs: 7 * 24 * HOUR,
  keepRowsMs: 30 * 24 * HOUR,
  mostRows: 500_000,
  most: 200,
  folders: 16,
};

/** A file that goes, or would go, and why. */
export interface Sweeping {
  readonly sha256: string;
  readonly kind: string;
  readonly config_key: string | null;
  readonly bytes: number;
  readonly why: string;
}

export interface SweepReport {
  readonly dryRun: boolean;
  readonly files: readonly Sweeping[];
  readonly bytes: number;
  /** Files that went from quarantine, and rows that were forgotten. */
  readonly fromQuarantine: number;
  readonly forgotten: number;
  /** There may be more at once: as much was found as one call takes. */
  readonly more: boolean;
}

export interface Sweeper {
  /** Frees what nothing holds, as much as one call may. A dry run only says what would go. */
  sweep(options?: { readonly dryRun?: boolean; readonly signal?: AbortSignal }): Promise<SweepReport>;
}

type Candidate = Pick<
  ArtifactRow,
  "sha256" | "kind" | "config_key" | "bytes" | "state" | "reason" | "idle_since" | "freed_at"
>;
const COLUMNS = "sha256, kind, config_key, bytes, state, reason, idle_since, freed_at";

/** Written out in the words of the partial index, or the planner would not see that it holds the answer. */
const IDLE = `SELECT ${COLUMNS} FROM sync_artifacts a
  WHERE freed_at IS NULL AND state IN ('durable', 'rejected') AND idle_since < ?
    AND NOT EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = a.sha256) ORDER BY idle_since LIMIT ?`;
const LEFT = `SELECT ${COLUMNS} FROM sync_artifacts
  WHERE freed_at IS NOT NULL AND removed_at IS NULL ORDER BY freed_at LIMIT ?`;

const forTime = (ms: number): string =>
  ms < 2 * 60_000
    ? `${Math.round(ms / 1_000)} s`
    : ms < 2 * HOUR
      ? `${Math.round(ms / 60_000)} min`
      : `${Math.round(ms / HOUR)} h`;

const whyOf = ({ state, reason, idle_since, freed_at }: Candidate, now: number): string => {
  if (freed_at !== null) return "it was given up before, and its file is still there";
  const idle = forTime(now - idle_since);
  return state === "rejected" ? `rejected ${idle} ago: ${reason}` : `nothing has held it for ${idle}`;
};

const sweepingOf = (row: Candidate, now: number): Sweeping => ({
  sha256: row.sha256,
  kind: row.kind,
  config_key: row.config_key,
  bytes: row.bytes,
  why: whyOf(row, now),
});

/**
 * Garbage collection from the roots: what is pinned and what is in flight stays, and so does whatever was judged, let go,
 * written or asked for within the grace. Everything else goes. The parents of what stays are its history, not its roots.
 *
 * First it is committed that a file is given up, then the file is removed, then that is committed too. Whatever dies in
 * between leaves a file too many and never one too few, and the next call goes on there.
 */
export function createSweeper(ports: {
  readonly store: Store;
  readonly files: ArtifactStore;
  readonly clock: Clock;
  readonly policy?: Partial<SweepPolicy>;
}): Sweeper {
  const { store, files, clock } = ports;
  const { graceMs, strayGraceMs, quarantineMs, keepRowsMs, mostRows, most, folders } = {
    ...sweepDefaults,
    ...ports.policy,
  };
  /** Where the search for strays goes on. */
  let place = 0;

  /** A row that counts on the file, or somebody who holds it. One that was given up and has come again is nobody's. */
  const isKnown = (sha256: string): boolean =>
    store.read(
      `SELECT 1 FROM sync_artifacts WHERE sha256 = ?1 AND freed_at IS NULL
       UNION ALL SELECT 1 FROM sync_pins WHERE sha256 = ?1`,
      sha256,
    ).length > 0;
  const isLeft = (sha256: string): boolean =>
    store.read("SELECT 1 FROM sync_artifacts WHERE sha256 = ? AND freed_at IS NOT NULL AND removed_at IS NULL", sha256)
      .length > 0;

  const remove = async (
    candidates: readonly Candidate[],
    touchedBefore: number,
    agree: (sha256s: readonly string[]) => Promise<readonly string[]>,
  ): Promise<Candidate[]> => {
    const gone = new Set(
      await files.take(
        candidates.map(({ sha256 }) => sha256),
        touchedBefore,
        agree,
      ),
    );
    if (gone.size > 0) await store.commit([noteRemoved({ sha256s: [...gone], at: clock.now() })]);
    return candidates.filter(({ sha256 }) => gone.has(sha256));
  };

  const free = async (candidates: readonly Candidate[], idleBefore: number): Promise<Candidate[]> =>
    remove(candidates, idleBefore, async (sha256s) => {
      const [{ freed }] = await store.commit([freeArtifacts({ sha256s, idleBefore, at: clock.now() })]);
      return freed;
    });

  const dropStray = async ({ sha256, bytes, isPart }: StoredFile, before: number): Promise<boolean> => {
    if (isPart) return files.dropPart(sha256, before);
    const gone = await files.take([sha256], before, async () => {
      const [{ disowned }] = await store.commit([disownFile({ sha256, bytes, at: clock.now() })]);
      return disowned ? [sha256] : [];
    });
    if (gone.length > 0) await store.commit([noteRemoved({ sha256s: gone, at: clock.now() })]);
    return gone.length > 0;
  };

  /** Files that no row knows: uploads of jobs that came to nothing. */
  const strays = async (now: number, dryRun: boolean, signal: AbortSignal | undefined): Promise<Sweeping[]> => {
    const before = now - strayGraceMs;
    const found: Sweeping[] = [];
    for (let i = 0; i < Math.min(folders, PREFIXES.length) && found.length < most; i += 1) {
      signal?.throwIfAborted();
      for (const file of await files.filesIn(PREFIXES[(place + i) % PREFIXES.length]!)) {
        if (found.length >= most) break;
        if (file.touchedAt >= before || (!file.isPart && isKnown(file.sha256))) continue;
        if (!dryRun && !(await dropStray(file, before))) continue;
        const why = file.isPart ? "a part that nobody went on with" : "nobody recorded it";
        found.push({ ...file, kind: "unknown", config_key: null, why: `${why} for ${forTime(now - file.touchedAt)}` });
      }
    }
    if (!dryRun && found.length < most) place = (place + folders) % PREFIXES.length;
    return found.map(({ sha256, kind, config_key, bytes, why }) => ({ sha256, kind, config_key, bytes, why }));
  };

  return {
    async sweep({ dryRun = false, signal } = {}) {
      const now = clock.now();
      const idleBefore = now - graceMs;
      const left = store.read<Candidate>(LEFT, most);
      const idle = store.read<Candidate>(IDLE, idleBefore, most);
      const goneLeft = dryRun ? left : await remove(left, idleBefore, async (all) => all.filter(isLeft));
      signal?.throwIfAborted();
      const goneIdle = dryRun ? idle : await free(idle, idleBefore);
      const goneStrays = await strays(now, dryRun, signal);
      const all = [...[...goneLeft, ...goneIdle].map((row) => sweepingOf(row, now)), ...goneStrays];
      const fromQuarantine = dryRun ? 0 : await files.emptyQuarantine(now - quarantineMs, most);
      const forgotten = dryRun
        ? 0
        : (await store.commit([forgetArtifacts({ before: now - keepRowsMs, mostRows, most })]))[0].forgotten;
      return {
        dryRun,
        files: all,
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
        fromQuarantine,
        forgotten,
        more: [left.length, idle.length, goneStrays.length, fromQuarantine, forgotten].some((n) => n >= most),
      };
    },
  };
}

import type { Clock } from "../kernel/index.ts";
import { settingDefaults } from "../kernel/settings/index.ts";
import type { Store } from "../router/index.ts";
import type { ArtifactRow } from "./artifact.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import { noteGone } from "./copies/copy-operations.ts";
import type { Cleaning } from "./disk-space.ts";
import { sweepDefaults } from "./limits.ts";
import { orphans } from "./orphans/orphan.ts";
import { disownFile, forgetArtifacts, freeArtifacts, noteRemoved } from "./retention-operations.ts";
import { artifactSettings } from "./settings.ts";
import { PREFIXES, type StoredFile } from "./stored-files.ts";

const { graceMs: usualGrace, strayGraceMs: usualStrayGrace } = settingDefaults(artifactSettings);
const policyDefaults = { ...sweepDefaults, graceMs: usualGrace, strayGraceMs: usualStrayGrace };

export type SweepPolicy = typeof policyDefaults;
/** What is not said is as usual. */
export const sweepPolicy = (given: Partial<SweepPolicy> = {}): SweepPolicy => ({ ...policyDefaults, ...given });

const HOUR = 3_600_000;

/** A file that goes, or would go, and why. */
export interface Sweeping extends Pick<ArtifactRow, "sha256" | "kind" | "config_key" | "bytes"> {
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

/** How one call is meant; what it does not say is as usual. */
type SweepCall = Partial<Cleaning> & { readonly dryRun?: boolean; readonly signal?: AbortSignal };

type Candidate = Pick<
  ArtifactRow,
  "sha256" | "kind" | "config_key" | "bytes" | "state" | "reason" | "idle_since" | "freed_at"
>;
const COLUMNS = "sha256, kind, config_key, bytes, state, reason, idle_since, freed_at";

/** Written out in the words of the partial index, or the planner would not see that it holds the answer. */
const IDLE = `SELECT ${COLUMNS} FROM sync_artifacts a
  WHERE freed_at IS NULL AND state IN ('durable', 'rejected') AND idle_since < ?1
    AND (config_key IS NULL OR config_key NOT IN (SELECT value FROM json_each(?3)))
    AND NOT EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = a.sha256) ORDER BY idle_since LIMIT ?2`;
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

const sweepingOf = (row: Candidate, now: number): Sweeping => {
  const { sha256, kind, config_key, bytes } = row;
  return { sha256, kind, config_key, bytes, why: whyOf(row, now) };
};

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
  readonly nodeId: string;
  readonly policy?: Partial<SweepPolicy>;
}) {
  const { store, files, clock, nodeId } = ports;
  const usual = sweepPolicy(ports.policy);
  const { keepRowsMs, maxRows, max, folders } = usual;
  /** Where the search for strays goes on. */
  let place = 0;

  /** A row that counts on the file or has given it up, or somebody who holds it. One that has come again is nobody's. */
  const isKnown = (sha256: string): boolean =>
    store.read(
      `SELECT 1 FROM sync_artifacts WHERE sha256 = ?1 AND removed_at IS NULL
       UNION ALL SELECT 1 FROM sync_pins WHERE sha256 = ?1
       UNION ALL SELECT 1 FROM state_rows WHERE table_name = ?2 AND key = ?1`,
      sha256,
      // Games that nobody has written down yet are dealt with by their rule, and never taken for waste.
      orphans.table,
    ).length > 0;
  const isLeft = (sha256: string): boolean =>
    store.read("SELECT 1 FROM sync_artifacts WHERE sha256 = ? AND freed_at IS NOT NULL AND removed_at IS NULL", sha256)
      .length > 0;

  const remove = async <T extends { readonly sha256: string }>(
    candidates: readonly T[],
    touchedBefore: number,
    agree: (sha256s: readonly string[]) => Promise<readonly string[]>,
  ): Promise<T[]> => {
    const asked = candidates.map(({ sha256 }) => sha256);
    const gone = await files.take(asked, touchedBefore, agree);
    if (gone.length > 0)
      await store.commit([
        noteRemoved({ sha256s: gone, at: clock.now() }),
        noteGone({ node_id: nodeId, sha256s: gone }),
      ]);
    return candidates.filter(({ sha256 }) => gone.includes(sha256));
  };

  const free = (candidates: readonly Candidate[], idleBefore: number): Promise<Candidate[]> =>
    remove(candidates, idleBefore, async (sha256s) => {
      const [{ freed }] = await store.commit([freeArtifacts({ sha256s, idleBefore, at: clock.now() })]);
      return freed;
    });

  const dropStray = async (file: StoredFile, before: number): Promise<boolean> => {
    const { sha256, bytes, isPart } = file;
    if (isPart) return files.dropPart(file, before);
    const gone = await remove([file], before, async (asked) => {
      const [{ disowned }] = await store.commit([disownFile({ sha256, bytes, at: clock.now() })]);
      return disowned ? asked : [];
    });
    return gone.length > 0;
  };

  /** Files that no row knows: uploads of jobs that came to nothing. */
  const strays = async (
    now: number,
    before: number,
    dryRun: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Sweeping[]> => {
    const found: Sweeping[] = [];
    for (let i = 0; i < Math.min(folders, PREFIXES.length) && found.length < max; i += 1) {
      signal?.throwIfAborted();
      for (const file of await files.filesIn(PREFIXES[(place + i) % PREFIXES.length]!)) {
        const { sha256, bytes, isPart, touchedAt } = file;
        if (found.length >= max) break;
        if (touchedAt >= before || (!isPart && isKnown(sha256))) continue;
        if (!dryRun && !(await dropStray(file, before))) continue;
        const why = `${isPart ? "a part that nobody went on with" : "nobody recorded it"} for ${forTime(now - touchedAt)}`;
        found.push({ sha256, kind: "unknown", config_key: null, bytes, why });
      }
    }
    if (!dryRun && found.length < max) place = (place + folders) % PREFIXES.length;
    return found;
  };

  return {
    /** Frees what nothing holds, as much as one call may. A dry run only says what would go. */
    async sweep({ dryRun = false, signal, ...how }: SweepCall = {}): Promise<SweepReport> {
      const now = clock.now();
      const { graceMs, strayGraceMs, quarantineMs, exceptConfigs = [] } = { ...usual, ...how };
      const idleBefore = now - graceMs;
      const left = store.read<Candidate>(LEFT, max);
      const idle = store.read<Candidate>(IDLE, idleBefore, max, JSON.stringify(exceptConfigs));
      const goneLeft = dryRun ? left : await remove(left, idleBefore, async (all) => all.filter(isLeft));
      signal?.throwIfAborted();
      const goneIdle = dryRun ? idle : await free(idle, idleBefore);
      const goneStrays = await strays(now, now - strayGraceMs, dryRun, signal);
      const all = [...[...goneLeft, ...goneIdle].map((row) => sweepingOf(row, now)), ...goneStrays];
      const fromQuarantine = dryRun ? 0 : await files.emptyQuarantine(now - quarantineMs, max);
      const forgotten = dryRun
        ? 0
        : (await store.commit([forgetArtifacts({ before: now - keepRowsMs, maxRows, max })]))[0].forgotten;
      return {
        dryRun,
        files: all,
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
        fromQuarantine,
        forgotten,
        more: [left.length, idle.length, goneStrays.length, fromQuarantine, forgotten].some((n) => n >= max),
      };
    },
  };
}

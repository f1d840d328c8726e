/**
 * The files of one of several coordinators. Whether it leads or stands by, it has the rows of all artifacts and sees to it that it has
 * their bytes too: it fetches what it lacks, says what it holds after hashing it, and lets go of what the rows have given up.
 *
 * What it holds is told by receipts like those of any node, so that whoever leads next knows it from the same rows.
 */
import { type Clock, type Log, messageOf } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { ArtifactStore } from "../artifact-store.ts";
import { memberLimits } from "../limits.ts";
import type { Wanted } from "../transport.port.ts";

/** What a coordinator says of its files. */
export interface MemberFileNews {
  readonly held: readonly string[];
  readonly gone: readonly string[];
  /** It has looked since its start whether what it held is still there. */
  readonly isConfirmed: boolean;
  /** Files that it still lacks. */
  readonly lacking: number;
}

/** What came of a fetch. */
export interface Fetched {
  /** They are here now, hashed and flushed. */
  readonly came: readonly string[];
  /** All coordinators were asked for these, and none has them. */
  readonly nowhere: readonly string[];
}

/** Files that the work of a leader waits for. */
export interface SoughtFiles {
  list(): readonly Wanted[];
  /** Nobody has these. */
  noteNowhere(sha256s: readonly string[]): void;
}

export interface MemberFilesPorts {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn">;
  /** The name under which its copies are known. */
  readonly nodeId: string;
  readonly files: Pick<ArtifactStore, "stat" | "inspect" | "take">;
  /** Brings what can be had of these. */
  readonly fetch: (wanted: readonly Wanted[], signal: AbortSignal) => Promise<Fetched>;
  /** Those that come before all others; only at the leader. */
  readonly sought?: SoughtFiles;
  /** To whoever leads; rejects when it was not taken down. */
  readonly tell: (news: MemberFileNews, signal: AbortSignal) => Promise<void>;
  /** Who is told: another one is told anew. */
  readonly audience: () => string;
  /** Also what was set aside as damaged: whoever leads wants it back. */
  readonly wantsDamaged: boolean;
}

// Also those that nobody has looked at since they came: a checkpoint is hashed again once a day, and is needed in the next round.
const COUNTED = "a.state IN ('in_flight', 'durable')";
const NOT_HELD = `NOT EXISTS (SELECT 1 FROM sync_held h WHERE h.seq = a.seq AND h.node_id = ?1 AND h.state = 'held')`;
const lackingSql = (wantsDamaged: boolean) =>
  `SELECT a.seq, a.sha256, a.bytes FROM sync_artifacts a
   WHERE a.freed_at IS NULL AND (${COUNTED}${wantsDamaged ? " OR a.state = 'quarantined'" : ""}) AND a.seq > ?2 AND ${NOT_HELD}
   ORDER BY a.seq LIMIT ?3`;
const HELD = `SELECT h.seq, a.sha256, a.bytes FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
  WHERE h.node_id = ? AND h.state = 'held' AND h.seq > ? ORDER BY h.seq LIMIT ?`;
const RETIRED = `SELECT a.sha256 FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
  WHERE h.node_id = ? AND h.state = 'retired' AND a.freed_at IS NOT NULL ORDER BY h.seq LIMIT ?`;

type Lacked = Wanted & { readonly seq: number };
const NOTHING: Fetched = { came: [], nowhere: [] };

export function createMemberFiles(ports: MemberFilesPorts) {
  const { store, clock, log, nodeId, files } = ports;
  const { pageFiles, roundFiles, roundBytes, againMs, maxAgainMs, maxSoughtAgainMs, tellMs } = memberLimits;
  let isConfirmed = false;
  let told = { at: Number.NEGATIVE_INFINITY, audience: "", lacking: -1 };
  /** Files that could not be had, and when they are tried again. */
  const waiting = new Map<string, { readonly until: number; readonly waitMs: number }>();

  const isThere = async ({ sha256, bytes }: Wanted): Promise<boolean> => (await files.stat(sha256)).size === bytes;

  /** What it said before its start that it holds, and is not there. */
  const confirm = async (signal: AbortSignal): Promise<void> => {
    for (let after = 0; ; ) {
      const rows = store.read<Lacked>(HELD, nodeId, after, pageFiles);
      const gone: string[] = [];
      for (const row of rows) {
        signal.throwIfAborted();
        if (!(await isThere(row))) gone.push(row.sha256);
      }
      if (gone.length > 0) {
        log.warn("copies of this coordinator are gone; they are fetched again", { files: gone.length });
        await ports.tell({ held: [], gone, isConfirmed: false, lacking: gone.length }, signal);
      }
      if (rows.length < pageFiles) break;
      after = rows.at(-1)!.seq;
    }
    isConfirmed = true;
  };

  const isDue = ({ sha256 }: Wanted): boolean => (waiting.get(sha256)?.until ?? 0) <= clock.monotonic();
  const postpone = (sha256: string, maxMs: number): void => {
    const waitMs = Math.min(maxMs, (waiting.get(sha256)?.waitMs ?? againMs / 2) * 2);
    waiting.set(sha256, { until: clock.monotonic() + waitMs, waitMs });
  };

  /** The next ones that it lacks and that may be tried now, as many as one round takes; and how many it saw at all. */
  const nextLacking = (sought: readonly Wanted[]) => {
    const sql = lackingSql(ports.wantsDamaged);
    const wanted: Wanted[] = [];
    let [seen, bytes, after] = [0, 0, 0];
    const isFull = () => wanted.length >= roundFiles || bytes >= roundBytes;
    const take = (one: Wanted) => {
      if (wanted.some(({ sha256 }) => sha256 === one.sha256)) return;
      wanted.push(one);
      bytes += one.bytes;
    };
    for (const one of sought.filter(isDue)) if (!isFull()) take(one);
    for (let more = true; more && !isFull(); ) {
      const rows = store.read<Lacked>(sql, nodeId, after, pageFiles);
      seen += rows.length;
      for (const row of rows.filter(isDue)) {
        if (isFull()) break;
        take(row);
      }
      more = rows.length >= pageFiles;
      after = rows.at(-1)?.seq ?? after;
    }
    return { wanted, seen };
  };

  /** Some lie here already, from a time when it led, or were brought by somebody else: they are hashed before they count. */
  const soundHere = async (wanted: readonly Wanted[], signal: AbortSignal): Promise<Set<string>> => {
    const sound = new Set<string>();
    // One of another size is none of it, and is set aside by the look.
    for (const one of wanted)
      if ((await files.stat(one.sha256)).size !== null) {
        const found = await files.inspect(one.sha256, { bytes: one.bytes, signal });
        if (found.sound) sound.add(one.sha256);
      }
    return sound;
  };

  const letGo = async (): Promise<string[]> => {
    const retired = store.read<{ sha256: string }>(RETIRED, nodeId, pageFiles).map(({ sha256 }) => sha256);
    // That it was given up is in the log, and so on the disks of a majority.
    return retired.length === 0 ? [] : files.take(retired, Number.POSITIVE_INFINITY, async (all) => all);
  };

  return {
    /** One look: gives how many came, and whether there is more to do at once. */
    async round(signal: AbortSignal): Promise<{ readonly came: number; readonly more: boolean }> {
      if (!isConfirmed) await confirm(signal);
      const sought = ports.sought?.list() ?? [];
      const { wanted, seen } = nextLacking(sought);
      const here = await soundHere(wanted, signal);
      const missing = wanted.filter(({ sha256 }) => !here.has(sha256));
      let fetched = NOTHING;
      try {
        if (missing.length > 0) fetched = await ports.fetch(missing, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        log.warn("files of other coordinators could not be fetched; it is tried again", { error: messageOf(thrown) });
      }
      ports.sought?.noteNowhere(fetched.nowhere);
      const held = [...here, ...fetched.came];
      const got = new Set(held);
      const hurried = new Set(sought.map(({ sha256 }) => sha256));
      for (const { sha256 } of wanted) {
        if (got.has(sha256)) waiting.delete(sha256);
        else postpone(sha256, hurried.has(sha256) ? maxSoughtAgainMs : maxAgainMs);
      }
      const gone = await letGo();
      const [lacking, audience, at] = [Math.max(0, seen - held.length), ports.audience(), clock.monotonic()];
      const isSame = told.audience === audience && told.lacking === lacking && at - told.at < tellMs;
      if (held.length + gone.length > 0 || !isSame) {
        await ports.tell({ held, gone, isConfirmed, lacking }, signal);
        told = { at, audience, lacking };
      }
      return { came: held.length, more: held.length > 0 && seen > held.length };
    },
    isConfirmed: () => isConfirmed,
  };
}

export type MemberFiles = ReturnType<typeof createMemberFiles>;

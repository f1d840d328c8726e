import { type Clock, OperatingError } from "../kernel/index.ts";
import { conditions, type Store, type WriteSet } from "../router/index.ts";
import { type ArtifactEntryInput, type ArtifactRow, parseEntries } from "./artifact.ts";
import { countProduced, judgeArtifacts, recordArtifacts } from "./artifact-operations.ts";
import { type BookFault, bookFaults, type ConfigBooks, readBooks } from "./books.ts";
import { broughtPin } from "./brought/names.ts";
import { isSha256, notAnArtifact } from "./disk.ts";
import { MAX_LISTED, MAX_REASON_LENGTH, MAX_RELATIVES } from "./limits.ts";
import { type Lineage, lineageOf } from "./lineage.ts";
import { pinArtifacts } from "./retention-operations.ts";
import type { RunRow } from "./run-operations.ts";

export interface ArtifactFilter extends Partial<Pick<ArtifactRow, "kind" | "state" | "producer">> {
  readonly config_key?: string;
  readonly work_id?: string;
  readonly iteration?: number;
  /** The `seq` to go on after. */
  readonly after?: number;
  readonly limit?: number;
}

/** Changes that belong to a unit's own commit: they come about with its rows and its ack, or not at all. */
export interface JoinedArtifacts {
  /** New files, in flight until they are judged. Twice is once, by file and job. */
  record(entries: readonly ArtifactEntryInput[]): void;
  /** Judged good: training and others may use them. */
  accept(sha256s: readonly string[]): void;
  /** Judged bad. The reason is a stable word or two: the books are kept by it. */
  reject(sha256s: readonly string[], reason: string): void;
  /** What an owner holds from now on, in place of all it held; nothing of it is given up. Nothing to hold lets go of all. */
  pin(owner: string, sha256s: readonly string[]): void;
  /** What a job counted when it was done, beside what its files say. Twice is once, by job. */
  produced(configKey: string, producer: string, workId: string, games: number): void;
}

/** What it takes to make an artifact again. Artifacts follow byte for byte from their job. */
export interface Rebuild extends Pick<ArtifactRow, "sha256" | "kind" | "iteration" | "part"> {
  readonly config_key: string;
  readonly work_id: string;
  /** What the job was given, in its order. */
  readonly inputs: readonly string[];
  /** Inputs whose files are not there: they must be made again first. */
  readonly missing: readonly string[];
}

export interface ArtifactCatalog {
  join(context: { readonly rows: Pick<WriteSet, "apply"> }): JoinedArtifacts;
  get(sha256: string): ArtifactRow | undefined;
  /** In the order they were first recorded. */
  list(filter?: ArtifactFilter): ArtifactRow[];
  /** Files of played games, newest first. */
  games(filter: { readonly configKey?: string; readonly before?: number; readonly limit: number }): ArtifactRow[];
  /** Files whose hash begins so; a few are enough to know that it is not one. */
  beginning(hex: string, kind?: string): ArtifactRow[];
  /** Those whose files are damaged or gone, the newest loss first. */
  quarantined(max?: number): ArtifactRow[];
  parentsOf(sha256: string): string[];
  pinsOf(sha256: string): string[];
  pinnedBy(owner: string): string[];
  /** Segments of a config that came by no job of ours and are in no set yet, in the order of their hash. */
  brought(configKey: string, limit: number): ArtifactRow[];
  lineage(sha256: string, max?: number): Lineage | undefined;
  books(configKey?: string): ConfigBooks[];
  bookFaults(max?: number): Promise<readonly BookFault[]>;
  /** From which job it can be made again; undefined if nobody knows. */
  rebuildOf(sha256: string): Rebuild | undefined;
  run(runId: string): RunRow | undefined;
}

const MAX_MEANT = 6;

const isThere = ({ state, freed_at }: ArtifactRow): boolean =>
  freed_at === null && (state === "in_flight" || state === "durable" || state === "rejected");

const checked = (sha256s: readonly string[]): readonly string[] => {
  for (const sha256 of sha256s) if (!isSha256(sha256)) throw notAnArtifact();
  return sha256s;
};

/** What is known of every artifact, who holds it, and the books. Reads see the last commit. */
export function createArtifactCatalog({
  store,
  clock,
}: {
  readonly store: Pick<Store, "read" | "scan">;
  readonly clock: Clock;
}): ArtifactCatalog {
  const get = (sha256: string) => store.read<ArtifactRow>("SELECT * FROM sync_artifacts WHERE sha256 = ?", sha256)[0];
  const column = (sql: string, value: string): string[] =>
    store.read<{ value: string }>(sql, value).map((row) => row.value);
  const parentsOf = (sha256: string) =>
    column("SELECT parent AS value FROM sync_parents WHERE sha256 = ? ORDER BY place", sha256);

  return {
    join: ({ rows }) => ({
      record(entries) {
        if (entries.length > 0) rows.apply(recordArtifacts({ entries: parseEntries(entries), at: clock.now() }));
      },
      accept(sha256s) {
        const args = { sha256s: checked(sha256s), action: "accept", reason: null, at: clock.now() } as const;
        if (sha256s.length > 0) rows.apply(judgeArtifacts(args));
      },
      reject(sha256s, reason) {
        if (reason.trim() === "") throw OperatingError.internal("ARTIFACT_REASON", "a rejection needs a reason");
        const args = { sha256s: checked(sha256s), action: "reject", at: clock.now() } as const;
        if (sha256s.length > 0) rows.apply(judgeArtifacts({ ...args, reason: reason.slice(0, MAX_REASON_LENGTH) }));
      },
      pin(owner, sha256s) {
        const seen = checked(sha256s).filter((sha256) => get(sha256)?.freed_at === null);
        rows.apply(pinArtifacts({ owner, sha256s, seen, at: clock.now() }));
      },
      produced(config_key, producer, work_id, games) {
        rows.apply(countProduced({ config_key, producer, work_id, games, at: clock.now() }));
      },
    }),
    get,
    list({ after = 0, limit = 1_000, ...filter } = {}) {
      const { sql, params } = conditions({
        "config_key = ?": filter.config_key,
        "kind = ?": filter.kind,
        "state = ?": filter.state,
        "producer = ?": filter.producer,
        "work_id = ?": filter.work_id,
        "iteration = ?": filter.iteration,
        "seq > ?": after,
      });
      return store.read<ArtifactRow>(
        `SELECT * FROM sync_artifacts WHERE ${sql} ORDER BY seq LIMIT ?`,
        ...params,
        Math.min(limit, MAX_LISTED),
      );
    },
    games({ configKey, before, limit }) {
      const { sql, params } = conditions({ "config_key = ?": configKey, "kind = ?": "games", "seq < ?": before });
      return store.read<ArtifactRow>(
        `SELECT * FROM sync_artifacts WHERE ${sql} ORDER BY seq DESC LIMIT ?`,
        ...params,
        Math.min(limit, MAX_LISTED),
      );
    },
    beginning: (hex, kind) =>
      store.read<ArtifactRow>(
        `SELECT * FROM sync_artifacts WHERE sha256 >= ?1 AND sha256 < ?2 AND kind = coalesce(?3, kind)
         ORDER BY sha256 LIMIT ${MAX_MEANT}`,
        hex,
        `${hex}g`,
        kind ?? null,
      ),
    // Written out in the words of the partial index: it costs as much as there are damaged files.
    quarantined: (max = MAX_LISTED) =>
      store.read<ArtifactRow>(
        "SELECT * FROM sync_artifacts WHERE state = 'quarantined' ORDER BY idle_since DESC LIMIT ?",
        Math.min(max, MAX_LISTED),
      ),
    parentsOf,
    pinsOf: (sha256) => column("SELECT owner AS value FROM sync_pins WHERE sha256 = ? ORDER BY owner", sha256),
    pinnedBy: (owner) => column("SELECT sha256 AS value FROM sync_pins WHERE owner = ? ORDER BY sha256", owner),
    brought: (configKey, limit) =>
      store.read<ArtifactRow>(
        `SELECT a.* FROM sync_pins p JOIN sync_artifacts a ON a.sha256 = p.sha256
         WHERE p.owner >= ?1 AND p.owner < ?2 AND a.config_key = ?3 AND a.state = 'durable' AND a.freed_at IS NULL
         ORDER BY a.sha256 LIMIT ?4`,
        broughtPin(""),
        broughtPin("g"),
        configKey,
        limit,
      ),
    lineage: (sha256, max = MAX_RELATIVES) => lineageOf(store, get, sha256, max),
    books: (configKey) => readBooks(store, configKey),
    bookFaults: (max) => bookFaults(store, max),
    rebuildOf(sha256) {
      const row = get(sha256);
      if (row?.work_id == null || row.config_key === null) return undefined;
      const { kind, config_key, iteration, work_id, part } = row;
      const inputs = parentsOf(sha256);
      const missing = inputs.filter((input) => {
        const found = get(input);
        return found === undefined || !isThere(found);
      });
      return { sha256, kind, config_key, iteration, work_id, part, inputs, missing };
    },
    run: (runId) => store.read<RunRow>("SELECT * FROM sync_runs WHERE run_id = ?", runId)[0],
  };
}

/**
 * A database that is one of several equal ones. It knows the entry of the log that it has come to, and takes the next: whole, once, and
 * only if it belongs there. Whatever does not belong stops it with its reason; it never skips and never guesses.
 */
import { randomBytes } from "node:crypto";
import { constants, type DatabaseSync } from "node:sqlite";
import { constants as zlib, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { SchemaSteps } from "../../../cluster/index.ts";
import { assert, isOperatingError, OperatingError } from "../../../kernel/index.ts";
import {
  type DecodedEntry,
  decodeEntry,
  type LogPosition,
  misfit,
  NO_ENTRY,
  type StoredEntry,
} from "../../../router/index.ts";
import { translateFault } from "../faults.ts";
import { countedTables, rowsDigest, schemaDigest, tablesWithoutKey } from "./digests.ts";
import { createLook } from "./look.ts";

/** Bytes of a changeset before it was packed; more than one commit of the writer can make. */
const MAX_CHANGES_BYTES = 2 ** 30;

/** The fastest level packs rows that resemble each other as well as the others do; who knows the size makes no larger tables than it needs. */
export const packChanges = (changes: Uint8Array): Uint8Array =>
  zstdCompressSync(changes, {
    pledgedSrcSize: changes.length,
    params: { [zlib.ZSTD_c_compressionLevel]: 1 },
  });
const unpackChanges = (body: Uint8Array): Uint8Array =>
  zstdDecompressSync(body, { maxOutputLength: MAX_CHANGES_BYTES });

const diverged = (what: string) =>
  OperatingError.internal("REPLICA_DIVERGED", `this replica cannot go on with the log: ${what}`, {
    hint: "Keep a copy of the data folder, then give this machine a snapshot of another coordinator.",
  });

interface PositionRow extends LogPosition {
  readonly schema: string;
}

const CREATE = `
  CREATE TABLE IF NOT EXISTS replica_position (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    cluster TEXT NOT NULL,
    generation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    term INTEGER NOT NULL,
    chain TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS replica_sequences (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS replica_checks (seq INTEGER PRIMARY KEY, digest TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS replica_terms (
    term INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    node TEXT NOT NULL,
    boot TEXT NOT NULL,
    at REAL NOT NULL,
    about TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS replica_step_downs (term INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;`;

/** Checks of the rows that are kept, newest first. */
const MAX_CHECKS = 100;
/** Terms that are kept, newest first. */
const MAX_TERMS = 100;

/** A leadership as the log says it. */
export interface TermRow {
  readonly term: number;
  readonly seq: number;
  readonly node: string;
  readonly boot: string;
  /** By the clock of whoever leads, in milliseconds since the epoch. */
  readonly at: number;
  /** What it said of itself, as text. */
  readonly about: string;
  /** What it said when it handed over, as text; null for one that never did. */
  readonly stepDown: string | null;
}

/** What is written down of an entry, by whoever wrote it and by whoever takes it. */
export interface TakenEntry extends Pick<DecodedEntry, "body" | "digest"> {
  readonly seq: number;
  readonly header: Pick<DecodedEntry["header"], "kind" | "term" | "node" | "boot" | "at">;
}

export interface Replica {
  readonly db: DatabaseSync;
  position(): LogPosition;
  /** Digest of the schema as it is now. */
  schema(): string;
  /** Takes the next entries, all in one flush. Throws REPLICA_DIVERGED, LOG_ENTRY_DAMAGED or SCHEMA_MISMATCH, and stays where it was. */
  replay(entries: readonly StoredEntry[]): void;
  /** Writes down, inside the transaction of whoever leads, that it has come to this entry. */
  advance(entry: TakenEntry): void;
  /**
   * Numbers that SQLite gives by itself and never again. Changes of rows do not show them: a row that came and went in one transaction
   * leaves no trace elsewhere, and its number would be given twice. So they are kept as rows, inside the transaction of whoever leads.
   */
  keepSequences(): void;
  /** Goes on behind the numbers that earlier leaders gave. */
  takeSequences(): void;
  /** Takes steps of the schema inside the transaction of whoever leads. */
  migrate(body: Uint8Array): void;
  /** Looks at the schema again, after such steps were committed. */
  renewSchema(): void;
  /** The last leaderships, newest first. */
  terms(limit: number): readonly TermRow[];
  /** What the rows come to at each `verify` entry, newest first. */
  checks(): readonly { readonly seq: number; readonly digest: string }[];
  /** Begins to look at the rows, right after whoever leads has committed such an entry. */
  look(seq: number): void;
  /** Resolves when no look at the rows is under way. */
  looked(): Promise<void>;
  stopLooking(): void;
}

/** Where a database stands in the log of its cluster; undefined for one that belongs to none. */
export function positionIn(db: DatabaseSync): LogPosition | undefined {
  const isReplica = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'replica_position'").get() !== undefined;
  const row = isReplica
    ? db.prepare("SELECT cluster, generation, seq, term, chain FROM replica_position").get()
    : undefined;
  return row && { ...(row as unknown as LogPosition) };
}

export interface ReplicaOptions {
  readonly cluster: string;
  readonly generation: number;
  /** Opens the same database for reading. Without it all rows are read at once when somebody asks what they come to. */
  readonly openBeside?: () => DatabaseSync;
}

/** Makes it a database by itself again. */
export const removeReplica = (db: DatabaseSync): void =>
  db.exec(`BEGIN IMMEDIATE; DROP TABLE replica_position; DROP TABLE IF EXISTS replica_sequences;
    DROP TABLE IF EXISTS replica_checks; DROP TABLE IF EXISTS replica_terms;
    DROP TABLE IF EXISTS replica_step_downs; COMMIT;`);

/**
 * The same rows as the beginning of a log of a new generation: entries of the one before are refused from here on. The first entry must
 * name this beginning: two copies may both have become the same generation, and each must refuse the log of the other.
 */
export function beginGeneration(db: DatabaseSync): LogPosition {
  db.exec("BEGIN IMMEDIATE");
  try {
    db.prepare("UPDATE replica_position SET generation = generation + 1, seq = 0, chain = ?").run(
      randomBytes(32).toString("hex"),
    );
    // What they say is said of entries that are not there any more.
    db.exec("DELETE FROM replica_checks; DELETE FROM replica_terms; COMMIT");
  } catch (thrown) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw translateFault(thrown);
  }
  return positionIn(db)!;
}

/** Begins at the start of the log, unless the database says where it is. */
export function openReplica(db: DatabaseSync, { cluster, generation, openBeside }: ReplicaOptions): Replica {
  try {
    db.exec(CREATE);
    db.prepare("INSERT OR IGNORE INTO replica_position VALUES (1, ?, ?, 0, 0, ?)").run(cluster, generation, NO_ENTRY);
  } catch (thrown) {
    throw translateFault(thrown);
  }
  const keyless = tablesWithoutKey(db);
  assert(keyless.length === 0, `every table has a key: ${keyless.join(", ")}`);
  const read = db.prepare("SELECT cluster, generation, seq, term, chain FROM replica_position");
  const write = db.prepare("UPDATE replica_position SET seq = ?, term = ?, chain = ?");
  const check = db.prepare("INSERT OR REPLACE INTO replica_checks (seq, digest) VALUES (?, ?)");
  const trim = db.prepare("DELETE FROM replica_checks WHERE seq <= (SELECT max(seq) FROM replica_checks) - ?");
  const keepCheck = (seq: number, digest: string) => {
    check.run(seq, digest);
    trim.run(MAX_CHECKS);
  };
  /** Found beside the writer, which may be in the middle of a transaction: written down with the next entry. */
  const found: { readonly seq: number; readonly digest: string }[] = [];
  const beside = openBeside && createLook(openBeside, (seq, digest) => void found.unshift({ seq, digest }));
  const current = (): LogPosition => ({ ...(read.get() as unknown as LogPosition) });
  let schema = schemaDigest(db);
  let counted = countedTables(db);
  const own = current();
  if (own.cluster !== cluster || own.generation !== generation)
    throw diverged(`it is of cluster ${own.cluster}, generation ${own.generation}, not of ${cluster}, ${generation}`);

  const begin = db.prepare("INSERT OR REPLACE INTO replica_terms VALUES (?, ?, ?, ?, ?, ?)");
  const forget = db.prepare("DELETE FROM replica_terms WHERE term <= ?");
  const handOver = db.prepare("INSERT OR REPLACE INTO replica_step_downs VALUES (?, ?)");
  const forgetHandOvers = db.prepare("DELETE FROM replica_step_downs WHERE term <= ?");
  const lastTerms = db.prepare(`SELECT t.term, t.seq, t.node, t.boot, t.at, t.about, s.body AS stepDown
    FROM replica_terms t LEFT JOIN replica_step_downs s ON s.term = t.term ORDER BY t.term DESC LIMIT ?`);

  const advance: Replica["advance"] = ({ seq, header, digest, body }) => {
    if (header.kind === "term") {
      begin.run(header.term, seq, header.node, header.boot, header.at, Buffer.from(body).toString());
      forget.run(header.term - MAX_TERMS);
      forgetHandOvers.run(header.term - MAX_TERMS);
    }
    if (header.kind === "step-down") handOver.run(header.term, Buffer.from(body).toString());
    for (const one of found.splice(0)) keepCheck(one.seq, one.digest);
    if (header.kind === "verify" && beside === undefined) keepCheck(seq, rowsDigest(db));
    write.run(seq, header.term, digest);
  };

  const applyChanges = (seq: number, body: Uint8Array): void => {
    let applied: boolean;
    const tables: string[] = [];
    let conflict = 0;
    try {
      applied = db.applyChangeset(unpackChanges(body), {
        filter: (table) => {
          if (counted.has(table)) return false;
          tables.push(table);
          return true;
        },
        onConflict: (type) => {
          conflict = type;
          return constants.SQLITE_CHANGESET_ABORT;
        },
      });
    } catch (thrown) {
      throw diverged(`entry ${seq} could not be applied (${String(thrown)})`);
    }
    // A conflict leaves the transaction open and says no more than this.
    if (!applied)
      throw diverged(
        `entry ${seq} changes rows of ${tables.at(-1) ?? "some table"} that are not as they were where it was made (conflict ${conflict})`,
      );
  };

  const migrate = (body: Uint8Array): void => {
    const { steps } = JSON.parse(Buffer.from(body).toString()) as SchemaSteps;
    const taken = db.prepare("INSERT INTO migrations (module, id, name) VALUES (?, ?, ?)");
    for (const { module, id, name, sql } of steps) {
      db.exec(sql);
      taken.run(module, id, name);
    }
  };

  const apply = (stored: StoredEntry, at: PositionRow): PositionRow => {
    const entry = { ...decodeEntry(stored.bytes), seq: stored.seq };
    const { header, body, seq, digest } = entry;
    asked = header.kind === "verify" ? seq : undefined;
    const wrong = misfit(entry, at);
    if (wrong !== undefined) throw diverged(wrong);
    if (header.schema !== at.schema)
      throw OperatingError.conflict("SCHEMA_MISMATCH", `entry ${seq} is for another schema than the one that is here`, {
        hint: "Install the version of the leader on this machine.",
      });
    if (header.kind === "changes") applyChanges(seq, body);
    if (header.kind === "migrate") migrate(body);
    advance(entry);
    const after = header.kind === "migrate" ? schemaDigest(db) : at.schema;
    if (header.kind === "migrate") counted = countedTables(db);
    return { ...at, seq, term: header.term, chain: digest, schema: after };
  };

  /** The last entry that was taken, if it asks what the rows come to. Others that ask before it are passed over. */
  let asked: number | undefined;

  const inOneFlush = (entries: readonly StoredEntry[]): void => {
    db.exec("BEGIN IMMEDIATE");
    try {
      let at: PositionRow = { ...current(), schema };
      for (const entry of entries) at = apply(entry, at);
      db.exec("COMMIT");
      schema = at.schema;
    } catch (thrown) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw translateFault(thrown);
    }
    if (asked !== undefined) beside?.begin(asked);
  };

  const keep = `INSERT INTO replica_sequences SELECT name, seq FROM sqlite_sequence WHERE true
    ON CONFLICT (name) DO UPDATE SET seq = excluded.seq WHERE excluded.seq <> replica_sequences.seq`;
  const hasSequences = () =>
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").get() !== undefined;
  const keepSequences = hasSequences() ? db.prepare(keep) : undefined;

  return {
    db,
    position: current,
    keepSequences: () => void keepSequences?.run(),
    takeSequences() {
      if (keepSequences === undefined) return;
      db.exec(`
        BEGIN IMMEDIATE;
        UPDATE sqlite_sequence SET seq = max(seq, (SELECT k.seq FROM replica_sequences k WHERE k.name = sqlite_sequence.name))
          WHERE name IN (SELECT name FROM replica_sequences);
        INSERT INTO sqlite_sequence (name, seq) SELECT name, seq FROM replica_sequences
          WHERE name NOT IN (SELECT name FROM sqlite_sequence);
        COMMIT;`);
    },
    schema: () => schema,
    advance,
    migrate,
    renewSchema() {
      schema = schemaDigest(db);
      counted = countedTables(db);
    },
    replay(entries) {
      try {
        inOneFlush(entries);
      } catch (thrown) {
        // Those before the one that stops it are sound, and it shall stop exactly there.
        if (entries.length <= 1 || !isOperatingError(thrown)) throw thrown;
        for (const entry of entries) inOneFlush([entry]);
      }
    },
    terms: (limit) => lastTerms.all(limit) as never,
    checks: () => [
      ...found,
      ...(db.prepare("SELECT seq, digest FROM replica_checks ORDER BY seq DESC").all() as unknown as typeof found),
    ],
    look: (seq) => beside?.begin(seq),
    looked: async () => beside?.done(),
    stopLooking: () => beside?.stop(),
  };
}

import { canonicalJson, type Json, OperatingError } from "../kernel/index.ts";
import { defineOperation, defineStoreModule, type Operation, type Store } from "./store.port.ts";

/** Rows of one kind that handlers read and change, by key. The value is JSON. */
export interface StateTable<T extends Json = Json> {
  readonly table: string;
  /** Never set: carries the row's type. */
  readonly row?: T;
}

export const defineTable = <T extends Json>(table: string): StateTable<T> => ({ table });

interface RowCheck {
  readonly table: string;
  readonly key: string;
  /** The version that was read; 0 for a row that was not there. */
  readonly version: number;
}

interface ScanCheck {
  readonly table: string;
  readonly digest: string;
}

interface RowChange {
  readonly table: string;
  readonly key: string;
  /** Canonical JSON; null deletes. */
  readonly value: string | null;
}

interface ApplyArgs {
  readonly reads: readonly RowCheck[];
  readonly scans: readonly ScanCheck[];
  readonly changes: readonly RowChange[];
}

const conflict = (what: string) => OperatingError.busy("READ_CONFLICT", `${what} changed while the handler ran`);

const digestOf = (rows: readonly { key: string; version: number }[]): string =>
  rows.map(({ key, version }) => `${key}\u0000${version}`).join("\u0001");

const SCAN = "SELECT key, value, version FROM state_rows WHERE table_name = ? ORDER BY key";

/** Applies a write set if what was read is still so; refuses it with READ_CONFLICT otherwise. */
const applyWriteSet = defineOperation<ApplyArgs, void>("state.apply", (tx, { reads, scans, changes }) => {
  for (const { table, key, version } of reads) {
    const now = tx.get<{ version: number }>(
      "SELECT version FROM state_rows WHERE table_name = ? AND key = ?",
      table,
      key,
    );
    if ((now?.version ?? 0) !== version) throw conflict(`${table}/${key}`);
  }
  for (const { table, digest } of scans)
    if (digestOf(tx.all<{ key: string; version: number }>(SCAN, table)) !== digest) throw conflict(table);
  for (const { table, key, value } of changes) {
    if (value === null) tx.run("DELETE FROM state_rows WHERE table_name = ? AND key = ?", table, key);
    else
      tx.run(
        `INSERT INTO state_rows (table_name, key, value, version) VALUES (?, ?, ?, (SELECT next FROM state_version))
         ON CONFLICT (table_name, key) DO UPDATE SET value = excluded.value, version = excluded.version`,
        table,
        key,
        value,
      );
    // One counter for all rows: a row that was deleted and written again never shows an old version.
    tx.run("UPDATE state_version SET next = next + 1");
  }
});

export const stateModule = defineStoreModule({
  name: "state",
  migrations: [
    {
      id: 1,
      name: "rows of units",
      sql: `
        CREATE TABLE state_rows (
          table_name TEXT NOT NULL,
          key TEXT NOT NULL,
          value TEXT NOT NULL,
          version INTEGER NOT NULL,
          PRIMARY KEY (table_name, key)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE state_version (id INTEGER PRIMARY KEY CHECK (id = 1), next INTEGER NOT NULL) STRICT;
        INSERT INTO state_version (id, next) VALUES (1, 1);
      `,
    },
  ],
  operations: [applyWriteSet],
});

/**
 * What a handler reads and changes while it runs. Reads see the last commit and the handler's own changes; nothing is
 * written until the handler has succeeded, and then all of it together with its emissions and its ack.
 */
export interface WriteSet {
  get<T extends Json>(table: StateTable<T>, key: string): T | undefined;
  /** All rows of a table, by key. */
  list<T extends Json>(table: StateTable<T>): [key: string, row: T][];
  put<T extends Json>(table: StateTable<T>, key: string, row: T): void;
  delete(table: StateTable, key: string): void;
  /** An operation of a room's own tables, applied with the rest. */
  apply(operation: Operation): void;
}

export interface CollectedWriteSet extends WriteSet {
  /** What the writer must do; empty when nothing was read or changed. */
  operations(): Operation[];
}

interface StoredRow {
  readonly key: string;
  readonly value: string;
  readonly version: number;
}

export function createWriteSet(store: Pick<Store, "read">): CollectedWriteSet {
  const reads = new Map<string, RowCheck & { value: string | undefined }>();
  const scans = new Map<string, ReadonlyMap<string, StoredRow>>();
  const changes = new Map<string, RowChange>();
  const extra: Operation[] = [];
  const at = (table: string, key: string) => `${table}\u0000${key}`;
  return {
    get<T extends Json>({ table }: StateTable<T>, key: string): T | undefined {
      const own = changes.get(at(table, key));
      if (own !== undefined) return own.value === null ? undefined : (JSON.parse(own.value) as T);
      let seen = reads.get(at(table, key));
      if (seen === undefined) {
        const scan = scans.get(table);
        const row =
          scan === undefined
            ? store.read<StoredRow>(
                "SELECT value, version FROM state_rows WHERE table_name = ? AND key = ?",
                table,
                key,
              )[0]
            : scan.get(key);
        seen = { table, key, version: row?.version ?? 0, value: row?.value };
        reads.set(at(table, key), seen);
      }
      return seen.value === undefined ? undefined : (JSON.parse(seen.value) as T);
    },
    list<T extends Json>({ table }: StateTable<T>): [string, T][] {
      let scan = scans.get(table);
      if (scan === undefined) {
        // Read once: a handler that looks again must not find another world than the one it began to change.
        scan = new Map(store.read<StoredRow>(SCAN, table).map((row) => [row.key, row]));
        scans.set(table, scan);
      }
      const rows = new Map([...scan.values()].map(({ key, value }) => [key, value]));
      for (const change of changes.values()) {
        if (change.table !== table) continue;
        if (change.value === null) rows.delete(change.key);
        else rows.set(change.key, change.value);
      }
      return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, JSON.parse(value) as T]);
    },
    put({ table }, key, row) {
      changes.set(at(table, key), { table, key, value: canonicalJson(row) });
    },
    delete({ table }, key) {
      changes.set(at(table, key), { table, key, value: null });
    },
    apply(operation) {
      extra.push(operation);
    },
    operations() {
      if (reads.size === 0 && scans.size === 0 && changes.size === 0) return extra;
      const checks = [...reads.values()].map(({ table, key, version }) => ({ table, key, version }));
      const scanned = [...scans].map(([table, rows]) => ({ table, digest: digestOf([...rows.values()]) }));
      return [applyWriteSet({ reads: checks, scans: scanned, changes: [...changes.values()] }), ...extra];
    },
  };
}

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { assert, OperatingError } from "../../kernel/index.ts";
import type { Operation, SqlParams, SqlValue, StoreModule, Transaction } from "../../router/index.ts";
import { isStoreFault, translateFault } from "./faults.ts";

export type Outcome =
  | { readonly ok: true; readonly results: readonly unknown[] }
  | { readonly ok: false; readonly error: unknown };

/** The one writer of a database: runs batches of commits, each batch with one flush to disk. */
export interface SqliteWriter {
  readonly db: DatabaseSync;
  apply(commits: readonly (readonly Operation[])[]): Outcome[];
  close(): void;
}

/** Prepared statements by their text: the set of texts is fixed by the code, so the cache is bounded by it. */
export const statementCache = (db: DatabaseSync) => {
  const cache = new Map<string, StatementSync>();
  return (sql: string): StatementSync => {
    let statement = cache.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      cache.set(sql, statement);
    }
    return statement;
  };
};

const transactionOver = (db: DatabaseSync): Transaction => {
  const prepare = statementCache(db);
  // SQLite takes both ways of naming values; the types of `node:sqlite` have a signature for each.
  const given = (params: SqlParams) => params as SqlValue[];
  return {
    run(sql, ...params) {
      const done = prepare(sql).run(...given(params));
      return { changes: Number(done.changes), lastId: Number(done.lastInsertRowid) };
    },
    get: <T>(sql: string, ...params: SqlParams) => prepare(sql).get(...given(params)) as T | undefined,
    all: <T>(sql: string, ...params: SqlParams) => prepare(sql).all(...given(params)) as T[],
  };
};

/** A connection that sees the last commit, and waits its turn where the file is locked for a moment. */
export const openReader = (path: string): DatabaseSync => new DatabaseSync(path, { readOnly: true, timeout: 5_000 });

/** Opens the file as the one writer does, and changes nothing in it. */
export function openDatabase(path: string, content?: Uint8Array): DatabaseSync {
  try {
    const db = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints: true });
    if (content !== undefined) db.deserialize(content);
    // Counts only for a database that has no table yet: freed pages can then be given back bit by bit.
    db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;");
    // Without this a checkpoint would run inside some unlucky commit at every 1000 pages.
    db.exec("PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -65536;");
    const check = db.prepare("PRAGMA quick_check(1)").get() as { quick_check?: string } | undefined;
    if (check?.quick_check !== "ok")
      throw OperatingError.internal("STORE_CORRUPT", `the database is damaged (${check?.quick_check ?? "no answer"})`, {
        hint: "Stop, keep a copy of the data folder, and restore coordination.db from a backup.",
      });
    return db;
  } catch (thrown) {
    throw translateFault(thrown);
  }
}

/** The steps that this database has not taken yet. Throws STORE_NEWER for one that has taken more than are known here. */
export function missingSteps(db: DatabaseSync, modules: readonly StoreModule[]) {
  const seen = db.prepare("SELECT max(id) AS id FROM migrations WHERE module = ?");
  return modules.flatMap(({ name, migrations }) => {
    const reached = Number((seen.get(name) as { id: number | null }).id ?? 0);
    const newest = migrations.at(-1)?.id ?? 0;
    if (reached > newest)
      throw OperatingError.conflict(
        "STORE_NEWER",
        `the database was written by a newer version (${name} ${reached} > ${newest})`,
        {
          hint: "Install the newer version again, or use another data folder.",
        },
      );
    assert(
      migrations.every(({ id }, index) => id === index + 1),
      `migrations of ${name} are numbered 1, 2, 3 ...`,
    );
    return migrations.slice(reached).map((step) => ({ module: name, step }));
  });
}

/** All missing steps in one commit: a database is of one version or the other, and a new one costs one flush. */
function migrate(db: DatabaseSync, modules: readonly StoreModule[]): void {
  db.exec(
    "CREATE TABLE IF NOT EXISTS migrations (module TEXT NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (module, id)) STRICT",
  );
  if (missingSteps(db, modules).length === 0) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    const taken = db.prepare("INSERT INTO migrations (module, id, name) VALUES (?, ?, ?)");
    // Another process that opens the file at the same time may have been faster.
    for (const { module, step } of missingSteps(db, modules)) {
      db.exec(step.sql);
      taken.run(module, step.id, step.name);
    }
    db.exec("COMMIT");
  } catch (thrown) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw thrown;
  }
}

/** Runs the operations of commits inside a transaction that somebody else begins and ends. */
export function operationRunner(db: DatabaseSync, modules: readonly StoreModule[]) {
  const operations = new Map<string, (tx: Transaction, args: never) => unknown>();
  for (const module of modules)
    for (const { op, run } of module.operations) {
      assert(!operations.has(op), `operation ${op} is registered once`);
      operations.set(op, run);
    }
  const tx = transactionOver(db);

  const runOne = (commit: readonly Operation[]): unknown[] =>
    commit.map(({ op, args }) => {
      const run = operations.get(op);
      if (run === undefined) throw new Error(`no store operation is named ${op}`);
      return run(tx, args as never);
    });

  return {
    tx,
    /** The common case: nobody refuses, so no savepoints are needed. */
    runTogether: (commits: readonly (readonly Operation[])[]): Outcome[] =>
      commits.map((commit) => ({ ok: true, results: runOne(commit) })),
    /** Somebody refused: each commit stands alone between savepoints, so that only the refusing one is undone. */
    runApart: (commits: readonly (readonly Operation[])[]): Outcome[] =>
      commits.map((commit) => {
        tx.run("SAVEPOINT one");
        try {
          const results = runOne(commit);
          tx.run("RELEASE one");
          return { ok: true, results };
        } catch (thrown) {
          const error = translateFault(thrown);
          // A fault of the disk concerns everybody and ends the batch; a refusal concerns its commit alone.
          if (isStoreFault(error) || !db.isTransaction) throw error;
          tx.run("ROLLBACK TO one");
          tx.run("RELEASE one");
          return { ok: false, error };
        }
      }),
  };
}

/** `content` is what a database in memory begins with, as `serialize` gave it. */
export function openWriter(path: string, modules: readonly StoreModule[], content?: Uint8Array): SqliteWriter {
  const db = openDatabase(path, content);
  try {
    migrate(db, modules);
  } catch (thrown) {
    db.close();
    throw translateFault(thrown);
  }
  const { tx, runTogether, runApart } = operationRunner(db, modules);

  const inTransaction = (body: () => Outcome[]): Outcome[] => {
    tx.run("BEGIN IMMEDIATE");
    try {
      const outcomes = body();
      tx.run("COMMIT");
      return outcomes;
    } catch (thrown) {
      if (db.isTransaction) tx.run("ROLLBACK");
      throw translateFault(thrown);
    }
  };

  return {
    db,
    apply(commits) {
      try {
        try {
          return inTransaction(() => runTogether(commits));
        } catch (error) {
          if (isStoreFault(error)) throw error;
          return inTransaction(() => runApart(commits));
        }
      } catch (error) {
        return commits.map(() => ({ ok: false, error: translateFault(error) }));
      }
    },
    close() {
      if (db.isOpen) db.close();
    },
  };
}

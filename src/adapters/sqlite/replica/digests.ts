/** What a schema, and what the rows of all its tables, come to: equal on replicas that are equal. */
import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { isLocalTable } from "./local-tables.ts";

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string;
}

const schemaRows = (db: DatabaseSync): SchemaRow[] =>
  (
    db
      .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")
      .all() as unknown as SchemaRow[]
  ).filter(({ tbl_name }) => !isLocalTable(tbl_name));

/** A changeset is applied to a table that looks otherwise without a word, and rows are lost: hence this. */
export function schemaDigest(db: DatabaseSync): string {
  const digest = createHash("sha256");
  for (const { type, name, tbl_name, sql } of schemaRows(db))
    digest.update(JSON.stringify([type, name, tbl_name, sql]));
  return digest.digest("hex");
}

/**
 * Tables that triggers write, and nothing else: counts of other tables. Their changes are in a changeset too, and the triggers of whoever
 * applies it make them again; so they are left out there. What a row went through within one commit does not show in a changeset, so a
 * count of zero may be a row on one replica and none on another: they are not compared either.
 */
export function countedTables(db: DatabaseSync): ReadonlySet<string> {
  const triggers = db.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").all() as { sql: string }[];
  const written = triggers.flatMap(({ sql }) => [
    ...sql.slice(sql.indexOf("BEGIN")).matchAll(/\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(?!SET\b)(\w+)/g),
  ]);
  return new Set(written.map(([, table]) => table!));
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

const keyOf = (db: DatabaseSync, table: string): string[] => {
  const columns = db.prepare("SELECT name, pk FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk").all(table);
  return (columns as { name: string }[]).map(({ name }) => name);
};

/** Tables that a changeset would leave out: they have no key. */
export const tablesWithoutKey = (db: DatabaseSync): string[] =>
  schemaRows(db)
    .filter(({ type, name }) => type === "table" && keyOf(db, name).length === 0)
    .map(({ name }) => name);

/** Reads every row, and pauses after some of them. */
const ROWS_AT_ONCE = 256;
export function* rowsDigestSteps(db: DatabaseSync): Generator<undefined, string> {
  const digest = createHash("sha256");
  let rows = 0;
  const counted = countedTables(db);
  for (const { type, name } of schemaRows(db)) {
    if (type !== "table" || counted.has(name)) continue;
    digest.update(JSON.stringify(name));
    const statement = db.prepare(`SELECT * FROM ${quoted(name)} ORDER BY ${keyOf(db, name).map(quoted).join(", ")}`);
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    for (const row of statement.iterate() as unknown as Iterable<unknown[]>) {
      digest.update(
        JSON.stringify(row, (_, value: unknown) => {
          if (typeof value === "bigint") return `${value}n`;
          return value instanceof Uint8Array ? `0x${Buffer.from(value).toString("hex")}` : value;
        }),
      );
      rows += 1;
      if (rows % ROWS_AT_ONCE === 0) yield undefined;
    }
  }
  return digest.digest("hex");
}

/** The same without a pause: for few rows, and for whoever has nothing else to do. */
export function rowsDigest(db: DatabaseSync): string {
  const steps = rowsDigestSteps(db);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

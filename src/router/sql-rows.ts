/** Rows of a room's own SQL tables, written and read by the names of their columns. */
import { canonicalJson, type Json } from "../kernel/index.ts";
import type { SqlRow, SqlValue, Transaction } from "./store.port.ts";

const columnOf = (value: Json): SqlValue => {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? canonicalJson(value) : value;
};

/** Inserts a row: lists and objects become canonical JSON, a yes or no becomes a number. `otherwise` ends the statement. */
export function insertRow(tx: Transaction, table: string, row: object, otherwise = "") {
  const columns = Object.keys(row);
  const marks = columns.map(() => "?").join(", ");
  return tx.run(
    `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks}) ${otherwise}`,
    ...Object.values(row).map(columnOf),
  );
}

/** A row as it was read, with the columns that hold JSON parsed. */
export const parseColumns = <T>(row: SqlRow, ...columns: readonly (keyof T & string)[]): T =>
  ({
    ...row,
    ...Object.fromEntries(columns.map((column) => [column, JSON.parse((row[column] ?? "null") as string)])),
  }) as T;

import { canonicalJson, type Json } from "../../kernel/index.ts";
import type { StateTable, WriteSet } from "../../router/index.ts";

/** Writes a row only if it says something new, so that looking again costs nobody a conflict. */
export function putChanged<T extends Json>(
  rows: Pick<WriteSet, "get" | "put">,
  table: StateTable<T>,
  key: string,
  row: T,
): void {
  const before = rows.get(table, key);
  if (before === undefined || canonicalJson(before) !== canonicalJson(row)) rows.put(table, key, row);
}

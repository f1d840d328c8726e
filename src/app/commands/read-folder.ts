import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../../adapters/sqlite/faults.ts";
import type { SqlValue, Store } from "../../router/index.ts";

/** Looks at what a process that is gone left in its data folder, and changes nothing; undefined when there is nothing. */
export function readFolder<T>(dataDir: string, look: (read: Store["read"]) => T): T | undefined {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return undefined;
  let db: DatabaseSync | undefined;
  try {
    const open = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    db = open;
    const known = open.prepare("SELECT name FROM sqlite_schema WHERE name = 'state_rows'").all();
    if (known.length === 0) return undefined;
    return look(<R>(sql: string, ...params: SqlValue[]) => open.prepare(sql).all(...params) as R[]);
  } catch (thrown) {
    throw translateFault(thrown);
  } finally {
    db?.close();
  }
}

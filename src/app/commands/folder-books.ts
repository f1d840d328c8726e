import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../../adapters/sqlite/faults.ts";
import { type Book, routerLedger } from "../../daemons/index.ts";
import { assert } from "../../kernel/index.ts";
import type { SqlValue, Store } from "../../router/index.ts";
import type { DaemonBook } from "../../surfaces/cli/index.ts";

/** Books are read here, and never written: that is the main process's work. */
const readOnlyRouter = (read: Store["read"]): Parameters<typeof routerLedger>[0] =>
  ({
    store: { read },
    transact: () => assert(false, "a folder is only read"),
    catalog: {},
  }) as unknown as Parameters<typeof routerLedger>[0];

const bookOf = ([name, { restarts, permanentFailure }]: readonly [string, Book]): DaemonBook => ({
  name,
  restarts: restarts.length,
  permanently_failed: permanentFailure?.reason ?? null,
  given_up_at: permanentFailure === null ? null : permanentFailure.at / 1_000,
});

/** What the supervisor of a process that is gone wrote down of its daemons; undefined when there is nothing. */
export function readFolderBooks(dataDir: string): DaemonBook[] | undefined {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return undefined;
  let db: DatabaseSync | undefined;
  try {
    const open = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    db = open;
    const known = open.prepare("SELECT name FROM sqlite_schema WHERE name = 'state_rows'").all();
    if (known.length === 0) return undefined;
    const read = <T>(sql: string, ...params: SqlValue[]) => open.prepare(sql).all(...params) as T[];
    return [...routerLedger(readOnlyRouter(read)).books()].map(bookOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (thrown) {
    throw translateFault(thrown);
  } finally {
    db?.close();
  }
}

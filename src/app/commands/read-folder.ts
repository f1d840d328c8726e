import { existsSync } from "node:fs";
import { join } from "node:path";
import { translateFault } from "../../adapters/sqlite/faults.ts";
import { openReader, statementCache } from "../../adapters/sqlite/writer.ts";
import { OperatingError } from "../../kernel/index.ts";
import type { SqlValue, Store, StoreModule } from "../../router/index.ts";

export type FolderReader = Pick<Store, "read" | "scan"> & { close(): void };

/** Opens the database of a folder for reading alone: it is never created, migrated or written here. Undefined when there is none. */
export function openFolder(dataDir: string): FolderReader | undefined {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return undefined;
  const faultsTranslated = <T>(ask: () => T): T => {
    try {
      return ask();
    } catch (thrown) {
      throw translateFault(thrown);
    }
  };
  const db = faultsTranslated(() => openReader(path));
  const prepare = statementCache(db);
  const read = <T>(sql: string, ...params: SqlValue[]) => faultsTranslated(() => prepare(sql).all(...params) as T[]);
  return {
    read,
    // Nobody else waits for a command.
    scan: async <T>(sql: string, params: readonly SqlValue[] = []) => read<T>(sql, ...params),
    close: () => db.close(),
  };
}

/** Only tables of this very version are read: nothing is brought up to date here. */
export function assertVersions({ read }: FolderReader, modules: readonly StoreModule[]): void {
  const isNew = read("SELECT name FROM sqlite_schema WHERE name = 'migrations'").length === 0;
  for (const { name, migrations } of modules) {
    const known = migrations.at(-1)?.id ?? 0;
    const [last] = isNew
      ? []
      : read<{ id: number | null }>("SELECT max(id) AS id FROM migrations WHERE module = ?", name);
    const reached = last?.id ?? 0;
    const about = `(${name} ${reached} ${reached > known ? ">" : "<"} ${known})`;
    if (reached > known)
      throw OperatingError.conflict("STORE_NEWER", `the data folder was written by a newer version ${about}`, {
        hint: "Use the newer version of ringrift, or another data folder.",
      });
    if (reached < known)
      throw OperatingError.conflict("STORE_OLDER", `the data folder was written by an older version ${about}`, {
        hint: "'ringrift up' brings it up to date.",
      });
  }
}

/** Looks at what a process that is gone left in its data folder; undefined when it has no such table. */
export function readFolder<T>(dataDir: string, table: string, look: (read: Store["read"]) => T): T | undefined {
  const folder = openFolder(dataDir);
  try {
    const known = folder?.read("SELECT 1 FROM sqlite_schema WHERE name = ?", table) ?? [];
    return folder === undefined || known.length === 0 ? undefined : look(folder.read);
  } finally {
    folder?.close();
  }
}

/**
 * How many rows a statement looks at. SQLite tells it to nobody who asks from here, so every table stands behind a view of the
 * same name that counts: views are unfolded into the statement, which uses the same indexes as without them.
 */
import { DatabaseSync } from "node:sqlite";
import type { SqlValue } from "../../src/router/index.ts";

export interface SteppedRead {
  readonly sql: string;
  readonly rows: number;
}

export interface CountingReader extends Disposable {
  read<T>(sql: string, ...params: SqlValue[]): T[];
  /** Calls for every statement that was run. */
  onRead(listen: (read: SteppedRead) => void): void;
}

export function countingReader(path: string): CountingReader {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const listeners: ((read: SteppedRead) => void)[] = [];
  let rows = 0;
  db.function("stepped", { varargs: true }, () => {
    rows += 1;
    return 1;
  });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
  for (const { name } of tables) {
    // The key stands in every index as well, so a row is counted before any other condition can pass it over.
    const key = db.prepare("SELECT name FROM pragma_table_info(?) ORDER BY pk = 0, pk LIMIT 1").get(String(name))!.name;
    db.exec(`CREATE TEMP VIEW "${name}" AS SELECT * FROM main."${name}" WHERE stepped("${key}")`);
  }
  return {
    read<T>(sql: string, ...params: SqlValue[]) {
      rows = 0;
      // A view has no index by name; the planner finds the same one by itself.
      const found = db.prepare(sql.replaceAll(/INDEXED BY \w+/g, "")).all(...params) as T[];
      for (const listen of listeners) listen({ sql, rows });
      return found;
    },
    onRead: (listen) => void listeners.push(listen),
    [Symbol.dispose]: () => db.close(),
  };
}

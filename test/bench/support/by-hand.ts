/** The tables as the rooms make them, on one connection of the caller's thread: nothing between the caller and the disk. */
import { DatabaseSync } from "node:sqlite";
import type { StoreModule } from "../../../src/router/index.ts";

/** As durable as the writer's, with the same settings. */
export function databaseByHand(path: string, modules: readonly StoreModule[]): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;");
  db.exec("PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON;");
  for (const { migrations } of modules) for (const { sql } of migrations) db.exec(sql);
  return db;
}

/** One prepared insert into the journal: id, type, order key, payload, time, source, origin, node, trace, correlation, hash. */
export const eventInsertOf = (db: DatabaseSync) =>
  db.prepare(
    `INSERT INTO events (event_id, event_type, order_key, payload, payload_version, timestamp, source, origin, node_id,
       trace_id, correlation_id, parent_event_id, content_hash, views) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, NULL, ?, 15)`,
  );

/** A commit of one small row and nothing else: what the disk alone asks for. */
export function bareCommits(path: string) {
  const db = databaseByHand(path, []);
  db.exec("CREATE TABLE bare (n INTEGER PRIMARY KEY, at REAL NOT NULL) STRICT");
  const insert = db.prepare("INSERT INTO bare (at) VALUES (?)");
  return {
    /** Milliseconds that one took. */
    commit(): number {
      const began = performance.now();
      insert.run(began);
      return performance.now() - began;
    },
    close: () => db.close(),
  };
}

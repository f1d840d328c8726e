/** Results in the books that count more games than their jobs asked for, from before such were refused; and how to mend them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { translateFault } from "../../../adapters/sqlite/faults.ts";
import { type Json, messageOf } from "../../../kernel/index.ts";
import { number, plural } from "../../../surfaces/commands/index.ts";
import { resultLimits } from "../../../work/index.ts";
import { guardDataDir } from "../../data-folder/folder-lock.ts";
import { type Check, fail, ok } from "./finding.ts";

/** What the books call the games of such a result from then on. */
const FALSE_COUNT = "implausible";

export interface FalseResult {
  readonly work_id: string;
  readonly config_key: string;
  readonly producer: string;
  readonly games: bigint;
  /** What its job asked for; none where nobody remembers. */
  readonly asked: bigint;
}

const TABLES = ["sync_produced", "work_inputs", "sync_books", "state_rows"];
const FOUND = `SELECT work_id, config_key, producer, games, coalesce(asked, 0) AS asked FROM (
    SELECT p.*, CAST(json_extract(i.payload, '$.parameters.games') AS INTEGER) AS asked
    FROM sync_produced p LEFT JOIN work_inputs i ON i.seq = CAST(substr(p.work_id, 2) AS INTEGER))
  WHERE games > coalesce(nullif(asked, 0), ${resultLimits.maxCount}) ORDER BY CAST(substr(work_id, 2) AS INTEGER)`;

/** Numbers that cannot be read as such come as long ones. */
const statement = (db: DatabaseSync, sql: string): StatementSync => {
  const prepared = db.prepare(sql);
  prepared.setReadBigInts(true);
  return prepared;
};

function open<T>(dataDir: string, readOnly: boolean, run: (db: DatabaseSync) => T): T | undefined {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return undefined;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly, timeout: 5_000 });
    const marks = TABLES.map(() => "?").join(", ");
    const known = db.prepare(`SELECT name FROM sqlite_schema WHERE name IN (${marks})`).all(...TABLES);
    return known.length === TABLES.length ? run(db) : undefined;
  } catch (thrown) {
    throw translateFault(thrown);
  } finally {
    db?.close();
  }
}

const findIn = (db: DatabaseSync) => statement(db, FOUND).all() as unknown as FalseResult[];

export const findFalseResults = (dataDir: string): readonly FalseResult[] => open(dataDir, true, findIn) ?? [];

export const describeFalseResult = ({ work_id, config_key, producer, games, asked }: FalseResult): string =>
  `${work_id} of ${config_key}: ${producer} counted ${number(Number(games))} games, ${
    asked === 0n ? "nobody knows how many were asked for" : `${number(Number(asked))} were asked for`
  }`;

export const checkResults: Check = ({ dataDir, running }) => {
  if (running !== undefined) return [];
  try {
    const found = findFalseResults(dataDir);
    const [first] = found;
    if (first === undefined) return [ok("results", "none counts more than its job asked for")];
    const message = `${plural(found.length, "result")} cannot be true; ${describeFalseResult(first)}`;
    return [fail("results", message, "'ringrift doctor --repair' says what it would do about it.")];
  } catch (thrown) {
    // What is wrong with the file as a whole is said of the journal.
    return [fail("results", messageOf(thrown), "Mend the journal first.")];
  }
};

interface Entry {
  readonly sha256: string;
  readonly counted: bigint;
  readonly outcome: string;
  readonly reason: string | null;
}

/** Files that were not judged yet, or were judged good, are so no longer; the others stay what they are. */
const REJECTED = new Set(["in_flight", "durable", "quarantined", "rejected"]);
const BOOK = `INSERT INTO sync_books (config_key, producer, account, reason, games) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (config_key, producer, account, reason) DO UPDATE SET games = games + ?5`;

function mend(db: DatabaseSync, { work_id, config_key, producer, games, asked }: FalseResult): void {
  const book = (account: string, reason: string, change: bigint) =>
    db.prepare(BOOK).run(config_key, producer, account, reason, change);
  book("produced", "", asked - games);
  db.prepare("UPDATE sync_produced SET games = ? WHERE work_id = ?").run(asked, work_id);
  for (const [table, column] of [
    ["sync_artifacts", "state"],
    ["sync_past", "outcome"],
  ] as const) {
    const entries = statement(
      db,
      `SELECT sha256, counted, ${column} AS outcome, reason FROM ${table} WHERE work_id = ? AND counted > 0`,
    ).all(work_id) as unknown as Entry[];
    for (const { sha256, counted, outcome, reason } of entries) {
      const was = outcome === "duplicate" || outcome === "quarantined" ? "rejected" : outcome;
      book(was, was === "rejected" ? (reason ?? "duplicate") : "", -counted);
      book("rejected", FALSE_COUNT, asked);
      db.prepare(`UPDATE ${table} SET counted = ? WHERE sha256 = ? AND work_id = ?`).run(asked, sha256, work_id);
    }
    const named = `UPDATE ${table} SET ${column} = 'rejected', reason = ? WHERE work_id = ? AND ${column} IN (${[...REJECTED].map((state) => `'${state}'`).join(", ")})`;
    db.prepare(named).run(FALSE_COUNT, work_id);
  }
  // Where a file is gone for good, its games count as rejected all the same.
  db.prepare(
    `UPDATE sync_artifacts SET games = min(games, ?1), rows = min(rows, ?1 * ${resultLimits.maxRowsPerGame})
     WHERE work_id = ?2`,
  ).run(asked, work_id);
  db.prepare("UPDATE work_jobs SET outcome = json_set(outcome, '$.counts.games', ?) WHERE seq = ?").run(
    asked,
    BigInt(work_id.slice(1)),
  );
}

/** Numbers of games in the loop's own rows, by the name that they have there. */
const COUNTS = new Set(["games", "rows", "rejected_games"]);

/** A row of the loop with the counts that jobs asked for, and none where a count cannot be true. */
function mended(value: Json, asked: ReadonlyMap<string, bigint>): Json {
  if (Array.isArray(value)) return value.map((one) => mended(one, asked));
  if (typeof value !== "object" || value === null) return value;
  const own = value as Readonly<Record<string, Json>>;
  const known = typeof own.work_id === "string" ? asked.get(own.work_id) : undefined;
  return Object.fromEntries(
    Object.entries(own).map(([name, one]) => {
      if (name === "games" && known !== undefined) return [name, Number(known)];
      const isFalse = typeof one === "number" && COUNTS.has(name) && one > resultLimits.maxCount;
      return [name, isFalse ? 0 : mended(one, asked)];
    }),
  );
}

function mendRows(db: DatabaseSync, found: readonly FalseResult[]): void {
  const asked = new Map(found.map((one) => [one.work_id, one.asked]));
  const rows = db.prepare("SELECT table_name, key, value FROM state_rows WHERE table_name LIKE 'pipeline_%'").all();
  for (const { table_name, key, value } of rows as { table_name: string; key: string; value: string }[]) {
    const after = JSON.stringify(mended(JSON.parse(value) as Json, asked));
    if (after !== JSON.stringify(JSON.parse(value)))
      db.prepare("UPDATE state_rows SET value = ? WHERE table_name = ? AND key = ?").run(after, table_name, key);
  }
  // What a config has, all in all, follows from the books.
  for (const config_key of new Set(found.map((one) => one.config_key)))
    db.prepare(
      `UPDATE state_rows SET value = json_set(value, '$.games', (SELECT coalesce(sum(games), 0) FROM sync_books
         WHERE config_key = ?1 AND account IN ('durable', 'freed'))) WHERE table_name = 'pipeline_totals' AND key = ?1`,
    ).run(config_key);
}

/**
 * Counts what such jobs were asked for in place of what they said, and rejects their files, with the reason in the books: the
 * loop then plays their part again. All of it or nothing, and only while no main process has the folder.
 */
export function repairFalseResults(dataDir: string): readonly FalseResult[] {
  const guard = guardDataDir(dataDir);
  try {
    const repaired = open(dataDir, false, (db) => {
      db.exec("BEGIN IMMEDIATE");
      const found = findIn(db);
      for (const one of found) mend(db, one);
      if (found.length > 0) mendRows(db, found);
      db.exec("DELETE FROM sync_books WHERE games = 0; COMMIT");
      return found;
    });
    return repaired ?? [];
  } finally {
    guard.release();
  }
}

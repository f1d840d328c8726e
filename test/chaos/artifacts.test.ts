/** A file that a row promises is there, whatever was killed between which two steps; and the books balance. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";
import { onlyThorough } from "../support/thorough.ts";

const KEEPER = new URL("./parts/artifact-keeper.ts", import.meta.url);

interface Row {
  readonly sha256: string;
  readonly state: string;
  readonly verified_at: number | null;
  readonly freed_at: number | null;
}

const pathOf = (folder: string, sha256: string) => join(folder, "artifacts", sha256.slice(0, 2), sha256);

/** Rows whose file is not what they say. */
function liesIn(folder: string, rows: readonly Row[]): string[] {
  return rows
    .filter(({ state, freed_at }) => freed_at === null && state !== "quarantined")
    .filter(({ sha256 }) => {
      const path = pathOf(folder, sha256);
      return !existsSync(path) || createHash("sha256").update(readFileSync(path)).digest("hex") !== sha256;
    })
    .map(({ sha256, state }) => `${sha256} is ${state}`);
}

function look(folder: string) {
  const db = new DatabaseSync(join(folder, "coordination.db"), { readOnly: true });
  const all = <T>(sql: string) => db.prepare(sql).all() as T[];
  const found = {
    rows: all<Row>("SELECT sha256, state, verified_at, freed_at FROM sync_artifacts"),
    sums: Object.fromEntries(
      all<{ account: string; games: number }>(
        "SELECT account, sum(games) AS games FROM sync_books GROUP BY account ORDER BY account",
      ).map(({ account, games }) => [account, games]),
    ),
    said: all<{ event_type: string; what: string }>(
      `SELECT event_type, ifnull(payload ->> '$.sync_id', payload ->> '$.artifact_hash') AS what FROM events
       WHERE event_type IN ('DATABASE_CREATED', 'DATA_SYNC_STARTED', 'DATA_SYNC_COMPLETED', 'DATA_SYNC_FAILED')`,
    ).map(({ event_type, what }) => `${event_type} ${what}`),
  };
  db.close();
  return found;
}

test.each([
  ["sync.end_run", "after", 3],
  ["sync.free", "before", 1],
  ["sync.free", "after", 2],
  ["sync.removed", "before", 1],
  ...onlyThorough([
    ["sync.record", "before", 2],
    ["sync.begin_run", "after", 2],
    ["sync.end_run", "before", 2],
    ["sync.disown", "after", 1],
  ] as const),
] as const)(
  "killed around %s (%s it, time %i): no row lies, and the next run does the rest once",
  async (op, when, n) => {
    const own = owned(onTestFinished);
    const folder = own.folder();
    const killed = own.startNode(KEEPER, [folder, op, when, String(n)]);
    expect(await killed.exited).toMatchObject({ signal: "SIGKILL" });
    // Before it was looked at, the file that was spoilt is nobody's fault but the disk's.
    const unseen = new Set(
      look(folder)
        .rows.filter(({ verified_at }) => verified_at === null)
        .map(({ sha256 }) => sha256),
    );
    expect(liesIn(folder, look(folder).rows).filter((lie) => !unseen.has(lie.slice(0, 64)))).toEqual([]);

    const again = own.startNode(KEEPER, [folder]);
    expect(await again.exited, again.stderr()).toEqual({ code: 0, signal: null });
    const { rows, sums, said } = look(folder);
    expect(liesIn(folder, rows)).toEqual([]);
    expect(sums).toEqual({ durable: 20, freed: 40, produced: 60 });
    expect(said.length).toBe(new Set(said).size);
    expect(said.filter((line) => line.startsWith("DATABASE_CREATED"))).toHaveLength(6);
    // Nothing is left but the files of the last round.
    const left = readdirSync(join(folder, "artifacts"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith("quarantine"))
      .map(({ name }) => name);
    expect(left.toSorted()).toEqual(
      rows
        .filter(({ state }) => state === "durable")
        .map(({ sha256 }) => sha256)
        .toSorted(),
    );
    expect(left).toHaveLength(4);
  },
);

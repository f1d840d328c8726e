/** A catalog of artifacts over SQL, small enough to look into: what the pipeline asks of the store of files, and no more. */
import type { ArtifactCatalog, ArtifactEntry, ArtifactState } from "../../../src/pipeline/artifacts.port.ts";
import { defineOperation, defineStoreModule, type Store } from "../../../src/router/index.ts";

const record = defineOperation<{ entries: readonly ArtifactEntry[] }, void>("shelf.record", (tx, { entries }) => {
  for (const { sha256, kind, games, config_key, producer, work_id } of entries)
    tx.run(
      `INSERT INTO shelf_files (sha256, work_id, kind, games, config_key, producer, state, reason)
       VALUES (?, ?, ?, ?, ?, ?, 'in_flight', NULL) ON CONFLICT DO NOTHING`,
      sha256,
      work_id,
      kind,
      games,
      config_key,
      producer,
    );
});
/** The newest job that brought a file is the one that is judged. */
const judge = defineOperation<{ sha256s: readonly string[]; state: string; reason: string | null }, void>(
  "shelf.judge",
  (tx, { sha256s, state, reason }) => {
    for (const sha256 of sha256s)
      tx.run(
        `UPDATE shelf_files SET state = ?, reason = ? WHERE rowid =
           (SELECT max(rowid) FROM shelf_files WHERE sha256 = ?) AND state <> 'rejected'`,
        state,
        reason,
        sha256,
      );
  },
);
const pin = defineOperation<{ owner: string; sha256s: readonly string[] }, void>(
  "shelf.pin",
  (tx, { owner, sha256s }) => {
    tx.run("DELETE FROM shelf_pins WHERE owner = ?", owner);
    for (const sha256 of sha256s) tx.run("INSERT INTO shelf_pins (owner, sha256) VALUES (?, ?)", owner, sha256);
  },
);
const produced = defineOperation<{ workId: string; games: number }, void>("shelf.produced", (tx, { workId, games }) => {
  tx.run("INSERT INTO shelf_produced (work_id, games) VALUES (?, ?) ON CONFLICT DO NOTHING", workId, games);
});

export const shelfModule = defineStoreModule({
  name: "shelf",
  migrations: [
    {
      id: 1,
      name: "files, pins, produced",
      sql: `CREATE TABLE shelf_files (sha256 TEXT, work_id TEXT, kind TEXT, games INTEGER, config_key TEXT, producer TEXT,
              state TEXT, reason TEXT, UNIQUE (sha256, work_id)) STRICT;
            CREATE TABLE shelf_pins (owner TEXT, sha256 TEXT) STRICT;
            CREATE TABLE shelf_produced (work_id TEXT PRIMARY KEY, games INTEGER) STRICT;`,
    },
  ],
  operations: [record, judge, pin, produced],
});

export interface Shelf extends ArtifactCatalog {
  /** Files whose bytes are found to be wrong. */
  readonly damaged: Set<string>;
  /** While false nothing is verified. */
  verifies: boolean;
}

export function createShelf(store: Pick<Store, "read">): Shelf {
  const damaged = new Set<string>();
  const shelf: Shelf = {
    damaged,
    verifies: true,
    join: ({ rows }) => ({
      record: (entries) => rows.apply(record({ entries })),
      accept: (sha256s) => rows.apply(judge({ sha256s, state: "durable", reason: null })),
      reject: (sha256s, reason) => rows.apply(judge({ sha256s, state: "rejected", reason })),
      pin: (owner, sha256s) => rows.apply(pin({ owner, sha256s })),
      produced: (_config, _producer, workId, games) => rows.apply(produced({ workId, games })),
    }),
    get(sha256) {
      const [row] = store.read<{ state: ArtifactState["state"]; reason: string | null }>(
        "SELECT state, reason FROM shelf_files WHERE sha256 = ? ORDER BY rowid DESC LIMIT 1",
        sha256,
      );
      if (row === undefined) return undefined;
      if (damaged.has(sha256)) return { state: "quarantined", reason: "damaged: wrong hash", verified_at: null };
      return { ...row, verified_at: shelf.verifies ? 1 : null };
    },
  };
  return shelf;
}

/** Games by where they are, and whether they add up to what was made. */
export function booksOf(store: Pick<Store, "read">) {
  const states = store.read<{ state: string; reason: string | null; games: number }>(
    "SELECT state, reason, sum(games) AS games FROM shelf_files GROUP BY state, reason HAVING sum(games) > 0",
  );
  const made = store.read<{ games: number | null }>("SELECT sum(games) AS games FROM shelf_produced")[0]?.games ?? 0;
  const sum = states.reduce((total, { games }) => total + games, 0);
  const by = Object.fromEntries(
    states.map(({ state, reason, games }) => [reason === null ? state : `${state}:${reason}`, games]),
  );
  return { produced: made, by, balanced: made === sum };
}

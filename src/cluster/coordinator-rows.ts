/** The coordinators that belong to the cluster, also while they are away: whose copies count, and up to where the log is still needed. */
import { defineOperation, type Migration, type Store } from "../router/store.port.ts";

export interface CoordinatorRow {
  readonly name: string;
  readonly url: string;
  readonly fingerprint: string | null;
  /** The last entry of the log that it was known to have. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly joined_at: number;
  readonly seen_at: number;
}

/** What is known of these members now. One that is new is written down; for the others only what changed. */
export const noteCoordinators = defineOperation<
  { readonly members: readonly Omit<CoordinatorRow, "joined_at" | "seen_at">[]; readonly at: number },
  void
>("coordinators.note", (tx, { members, at }) => {
  for (const { name, url, fingerprint, seq } of members)
    tx.run(
      `INSERT INTO coordinators (name, url, fingerprint, seq, joined_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
       ON CONFLICT (name) DO UPDATE SET url = excluded.url, fingerprint = excluded.fingerprint,
         seq = excluded.seq, seen_at = excluded.seen_at`,
      ...[name, url, fingerprint, seq, at],
    );
});

/** It belongs to the cluster no more. Says whether it did. */
export const dropCoordinator = defineOperation<{ readonly name: string }, boolean>(
  "coordinators.drop",
  (tx, { name }) => tx.run("DELETE FROM coordinators WHERE name = ?", name).changes > 0,
);

export const coordinatorOperations = [noteCoordinators, dropCoordinator] as const;

/** More than there ever are. */
const MAX_READ = 100;

export const storedCoordinators = (store: Pick<Store, "read">): CoordinatorRow[] =>
  store.read<CoordinatorRow>("SELECT * FROM coordinators ORDER BY name LIMIT ?", MAX_READ);

export const coordinatorMigration = (id: number): Migration => ({
  id,
  name: "coordinators",
  sql: `CREATE TABLE coordinators (
    name TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    fingerprint TEXT,
    seq INTEGER NOT NULL,
    joined_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
  ) STRICT`,
});

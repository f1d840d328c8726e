import { OperatingError } from "../../kernel/index.ts";
import { defineOperation, type Migration, type Operation, type Store } from "../../router/store.port.ts";

/** A lock that somebody has, as it is stored. When it lapses is not: that is counted by whoever listens. */
export interface LockRow {
  readonly name: string;
  readonly holder: string;
  /** Grows with every lock that is given, over all names: whoever comes with a smaller one is late. */
  readonly fence: number;
  readonly ttl_ms: number;
  /** Milliseconds since the epoch, for people. */
  readonly acquired_at: number;
}

export const lockLost = (name: string): OperatingError =>
  OperatingError.conflict("LOCK_LOST", `the lock '${name}' is not yours any more`, {
    hint: "Stop the work that it protects, and ask for the lock again.",
  });

const FENCE_OF = "SELECT fence FROM locks WHERE name = ?";

/** Gives the lock if nobody has it, or only who had it under the fence `over`, which has lapsed. */
export const takeLock = defineOperation<Omit<LockRow, "fence"> & { readonly over: number | null }, LockRow>(
  "locks.take",
  (tx, { over, ...given }) => {
    const held = tx.get<{ fence: number }>(FENCE_OF, given.name);
    if (held !== undefined && held.fence !== over)
      throw OperatingError.busy("LOCK_HELD", `the lock '${given.name}' was given to another`);
    const fence = tx.get<{ next: number }>("SELECT next FROM lock_fence")!.next;
    tx.run("UPDATE lock_fence SET next = next + 1");
    tx.run(
      `INSERT INTO locks (name, holder, fence, ttl_ms, acquired_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, ttl_ms = excluded.ttl_ms,
         acquired_at = excluded.acquired_at`,
      ...[given.name, given.holder, fence, given.ttl_ms, given.acquired_at],
    );
    return { ...given, fence };
  },
);

/** Says whether there was something to give back. */
export const dropLock = defineOperation<Pick<LockRow, "name" | "fence">, boolean>(
  "locks.drop",
  (tx, { name, fence }) => tx.run("DELETE FROM locks WHERE name = ? AND fence = ?", name, fence).changes > 0,
);

/** Refuses the whole commit that it is part of, unless the lock is still the one with this fence. */
export const checkLock = defineOperation<Pick<LockRow, "name" | "fence">, void>(
  "locks.check",
  (tx, { name, fence }) => {
    if (tx.get<{ fence: number }>(FENCE_OF, name)?.fence !== fence) throw lockLost(name);
  },
);

export const lockOperations = [takeLock, dropLock, checkLock] as const;

export const storedLocks = (store: Pick<Store, "read">): LockRow[] =>
  store.read<LockRow>("SELECT * FROM locks ORDER BY name");

export const lockMigration = (id: number): Migration => ({
  id,
  name: "locks",
  sql: `
    CREATE TABLE locks (
      name TEXT PRIMARY KEY,
      holder TEXT NOT NULL,
      fence INTEGER NOT NULL,
      ttl_ms REAL NOT NULL,
      acquired_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE lock_fence (id INTEGER PRIMARY KEY CHECK (id = 1), next INTEGER NOT NULL) STRICT;
    INSERT INTO lock_fence (id, next) VALUES (1, 1);
  `,
});

/** What a lock adds to a commit so that it counts only while the lock is held. */
export type LockCheck = Operation<void>;

/** What belongs to one replica alone, and is neither sent nor compared. */

/** Tables whose rows differ from replica to replica. SQLite's own are local as well. */
const LOCAL_TABLES: ReadonlySet<string> = new Set([
  "replica_position",
  "replica_checks",
  "replica_terms",
  "replica_step_downs",
  "store_probe",
]);

/** Operations that look after one file, and change no row that others have. */
const LOCAL_OPERATIONS: ReadonlySet<string> = new Set(["maintenance.vacuum", "maintenance.optimize", "store.probe"]);

export const isLocalTable = (name: string): boolean => LOCAL_TABLES.has(name) || name.startsWith("sqlite_");

export const isLocalCommit = (commit: readonly { readonly op: string }[]): boolean =>
  commit.length > 0 && commit.every(({ op }) => LOCAL_OPERATIONS.has(op));

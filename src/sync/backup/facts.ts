/** What a snapshot of the database says that a backup must hold. */
import { join } from "node:path";
import type { Store } from "../../router/index.ts";
import { readBooks } from "../books.ts";
import { MAX_BACKUP_FILES } from "./limits.ts";
import type { BackedUpBooks } from "./manifest.ts";
import type { BackupSource } from "./run-backup.ts";

type Reading = Pick<Store, "read">;

/** Files that the catalog counts on, oldest first. What was rejected or given up is nobody's. */
export const filesToBackUp = ({ read }: Reading, artifacts: string): BackupSource[] =>
  read<{ sha256: string; bytes: number; kind: string; needed: number }>(
    `SELECT sha256, bytes, kind, (state = 'in_flight' OR EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = a.sha256)) AS needed
     FROM sync_artifacts a WHERE freed_at IS NULL AND state IN ('in_flight', 'durable') ORDER BY seq LIMIT ?`,
    MAX_BACKUP_FILES,
  ).map(({ needed, ...file }) => ({
    ...file,
    path: join(artifacts, file.sha256.slice(0, 2), file.sha256),
    isNeeded: needed === 1,
  }));

/** The books in a few numbers, to be compared after a restore. */
export const booksOf = (store: Reading): BackedUpBooks[] =>
  readBooks(store).map(({ config_key, produced, durable, freed, in_flight, rejected }) => ({
    config_key,
    produced,
    durable,
    freed,
    in_flight,
    rejected,
  }));

/** A consistent copy of the database while others write to it, and what it says. Never on a main loop. */
import { createHash } from "node:crypto";
import { chmodSync, createReadStream, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type BackupSnapshot, type BackupSource, booksOf, filesToBackUp } from "../../sync/index.ts";
import { translateFault } from "../sqlite/faults.ts";
import { openReader } from "../sqlite/writer.ts";

async function sourceOf(path: string, kind: string): Promise<BackupSource> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1_024 ** 2 })) hash.update(chunk as Buffer);
  return { sha256: hash.digest("hex"), bytes: statSync(path).size, kind, path, isNeeded: true };
}

/** One read transaction from beginning to end: writers go on, and nothing of theirs gets in. Free pages stay behind. */
export async function takeSnapshot(database: string, artifacts: string, folder: string): Promise<BackupSnapshot> {
  const path = join(folder, "coordination.db");
  try {
    using from = openReader(database);
    from.prepare("VACUUM INTO ?").run(path);
    chmodSync(path, 0o600);
    using copy = new DatabaseSync(path, { readOnly: true });
    const store = {
      read: <T>(sql: string, ...values: (string | number | null)[]) => copy.prepare(sql).all(...values) as T[],
    };
    const [files, books] = [filesToBackUp(store as never, artifacts), booksOf(store as never)];
    return { database: await sourceOf(path, "database"), files, books };
  } catch (thrown) {
    throw translateFault(thrown);
  }
}

/** Starts from a folder that was restored, as the program would, and looks at what it finds: a process that ends with it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf, silentLog } from "../../kernel/index.ts";
import { booksOf } from "../../sync/index.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import { readSettings } from "../settings.ts";
import type { Drilled } from "./drilled.ts";

const [, , dataDir = ""] = process.argv;

async function drill(): Promise<Drilled> {
  // Nothing of this machine's settings: no alert goes out, nothing is trained, nobody is let in.
  const settings = readSettings({}, dataDir, { dataDir, port: 0 });
  const { shutdown, bootstrapStatus } = await bootstrapCoordination({ settings, log: silentLog() });
  const { errors } = bootstrapStatus();
  await shutdown();
  if (errors.length > 0) return { error: errors.join("; ") };
  using db = new DatabaseSync(join(dataDir, "coordination.db"), { readOnly: true });
  const read = <T>(sql: string, ...values: never[]) => db.prepare(sql).all(...values) as T[];
  const kept = read<{ sha256: string }>(
    "SELECT sha256 FROM sync_artifacts WHERE freed_at IS NULL AND state IN ('in_flight', 'durable')",
  ).map(({ sha256 }) => sha256);
  const lost = kept.filter((sha256) => !existsSync(join(dataDir, "artifacts", sha256.slice(0, 2), sha256)));
  return { books: booksOf({ read: read as never }), lost };
}

const drilled = await drill().catch((thrown: unknown): Drilled => ({ error: messageOf(thrown) }));
process.send?.(drilled, () => process.disconnect());

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { OperatingError } from "../../kernel/index.ts";

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function hasArtifacts(dataDir: string): boolean {
  try {
    const folder = join(dataDir, "artifacts");
    return readdirSync(folder).some((name) => /^[0-9a-f]{2}$/.test(name) && readdirSync(join(folder, name)).length > 0);
  } catch {
    return false;
  }
}

/**
 * What speaks of a journal that was here and is not any more: files that it knew, or its write-ahead log, which SQLite
 * would throw away. Undefined where there is a journal, and where there never was one.
 */
export function lostJournal(dataDir: string): OperatingError | undefined {
  const path = join(dataDir, "coordination.db");
  if (sizeOf(path) > 0) return undefined;
  const left = hasArtifacts(dataDir) ? "artifacts" : sizeOf(`${path}-wal`) > 0 ? "coordination.db-wal" : undefined;
  if (left === undefined) return undefined;
  return OperatingError.conflict(
    "STORE_LOST",
    `${path} is missing or empty, although ${left} in the same folder says that there was one`,
    {
      hint: `Put coordination.db back from a backup. To start empty, without the old data, first move ${join(dataDir, left)} away first.`,
    },
  );
}

import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../../adapters/sqlite/faults.ts";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { ENDPOINT_FILE, findEndpoint } from "../../surfaces/index.ts";
import { findHolder, holdsLock } from "./own-process.ts";
import { makePrivateFile } from "./private-file.ts";

/** Whoever has the lock, by its address, or by its number alone while it is still starting. */
function holderOf(dataDir: string): string {
  const first = findEndpoint(dataDir);
  if (first !== undefined && holdsLock(first.pid, dataDir) !== false)
    return `process ${first.pid} (port ${first.port})`;
  const pid = findHolder(dataDir);
  return pid === undefined ? "another process" : `process ${pid}, which is still starting or ending`;
}

/**
 * One main process for each data folder. The lock is SQLite's own on a file beside the journal, so the operating system
 * gives it back even after kill -9, and a second start in the same process is refused as well.
 */
export function guardDataDir(dataDir: string): { release(): void } {
  const path = join(dataDir, "main.lock");
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(makePrivateFile(path));
  } catch (thrown) {
    throw translateFault(thrown);
  }
  try {
    lock.exec("PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    const fault = translateFault(cause);
    if (!isOperatingError(fault, "STORE_LOCKED")) throw fault;
    throw OperatingError.conflict("ALREADY_RUNNING", `the data folder ${dataDir} is in use by ${holderOf(dataDir)}`, {
      cause,
      hint: "Stop the first one, or choose another folder with RINGRIFT_DATA_DIR.",
    });
  }
  // The address of a process that was killed leads nowhere, or by now to somebody else.
  rmSync(join(dataDir, ENDPOINT_FILE), { force: true });
  return {
    release() {
      if (!lock.isOpen) return;
      lock.exec("ROLLBACK");
      lock.close();
    },
  };
}

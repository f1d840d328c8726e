import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../adapters/sqlite/faults.ts";
import { isOperatingError, OperatingError } from "../kernel/index.ts";
import { findEndpoint } from "../surfaces/index.ts";
import { ownFile } from "./own-file.ts";

/**
 * One main process for each data folder. The lock is SQLite's own on a file beside the journal, so the operating system
 * gives it back even after kill -9, and a second start in the same process is refused as well.
 */
export function guardDataDir(dataDir: string): { release(): void } {
  const path = join(dataDir, "main.lock");
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(ownFile(path));
  } catch (thrown) {
    throw translateFault(thrown);
  }
  try {
    lock.exec("PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    const fault = translateFault(cause);
    if (!isOperatingError(fault, "STORE_LOCKED")) throw fault;
    const first = findEndpoint(dataDir);
    const who = first === undefined ? "another process" : `process ${first.pid} (port ${first.port})`;
    throw new OperatingError("ALREADY_RUNNING", `the data folder ${dataDir} is in use by ${who}`, {
      cause,
      hint: "Stop the first one, or choose another folder with RINGRIFT_DATA_DIR.",
    });
  }
  return {
    release() {
      if (!lock.isOpen) return;
      lock.exec("ROLLBACK");
      lock.close();
    },
  };
}

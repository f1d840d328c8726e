import { chmodSync, closeSync, existsSync, openSync } from "node:fs";

/**
 * Makes the file, readable for nobody else, also in a folder that others may look into. SQLite gives the files beside its
 * database the same mode, so it must be right before the database is opened.
 *
 * A file that is there already is not opened: closing it would take all locks back that this process has on it, also those
 * of a database that is open.
 */
export function makePrivateFile(path: string): string {
  try {
    if (!existsSync(path)) closeSync(openSync(path, "ax", 0o600));
    chmodSync(path, 0o600);
  } catch {
    // What keeps it from being made keeps it from being opened, and that error has a code and a hint.
  }
  return path;
}

import { mkdirSync, statSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** The code of an error of the system, such as `ENOENT`. */
export const systemCode = (thrown: unknown): string | undefined => (thrown as { code?: string } | undefined)?.code;

/** A name that was given, changed or taken away in a folder is on disk after this. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A file appears under its name only when all of it is on the disk. That its name is there too is for `syncFolder`. */
export async function writeDurably(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const neighbour = `${path}.part`;
  const file = await open(neighbour, "w", mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(neighbour, path);
}

/**
 * A folder that somebody named, with those above it. Node's own `recursive` never comes back where the file system says that the
 * folder above is missing although it is there, as /proc does.
 */
export function makeFolders(path: string, mode = 0o700): void {
  const make = (): void => {
    try {
      mkdirSync(path, { mode });
    } catch (thrown) {
      if (systemCode(thrown) !== "EEXIST" || !statSync(path).isDirectory()) throw thrown;
    }
  };
  try {
    make();
  } catch (thrown) {
    if (systemCode(thrown) !== "ENOENT" || dirname(path) === path) throw thrown;
    makeFolders(dirname(path), mode);
    make();
  }
}

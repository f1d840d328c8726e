import { open, rename } from "node:fs/promises";

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

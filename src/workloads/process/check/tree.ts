import { lstat, readdir } from "node:fs/promises";
import { join, relative } from "node:path";

/** What lies in a folder: each path with its kind, size and times. Folders in `except` are not looked into. */
export async function treeOf(root: string, except: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const look = async (folder: string): Promise<void> => {
    for (const name of (await readdir(folder)).sort()) {
      const path = join(folder, name);
      if (except.includes(path)) continue;
      const stats = await lstat(path);
      // A folder's own times change with what is in it, which is looked at anyway.
      found.set(relative(root, path), stats.isDirectory() ? "folder" : `${stats.mode} ${stats.size} ${stats.mtimeMs}`);
      if (stats.isDirectory()) await look(path);
    }
  };
  await look(root);
  return found;
}

/** Paths that came, went or changed. */
export const changesBetween = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).sort();

import { rename } from "node:fs/promises";
import { join } from "node:path";
import { syncFolder, systemCode } from "../../kernel/index.ts";
import { makeFolder } from "../disk.ts";
import { storedFiles } from "../stored-files.ts";
import type { Orphan } from "./orphan.ts";

/**
 * Moves a file that nobody knows out of the store, and keeps it: its name there is none that the clean-up of the quarantine takes.
 * False if it is not there any more.
 */
export async function setOrphanAside(root: string, { folder, name, sha256 }: Orphan): Promise<boolean> {
  const { quarantine } = storedFiles(root);
  await makeFolder(quarantine);
  try {
    await rename(join(folder, name), join(quarantine, `orphan-${sha256}`));
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return false;
    throw thrown;
  }
  await syncFolder(quarantine);
  return true;
}

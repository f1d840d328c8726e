/** Small files that a restore needs and nobody else may see: the token and keys of the data folder, the settings and the certificate. */
import { hash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { type BackupSource, MAX_PRIVATE_BYTES, MAX_PRIVATE_FILES } from "../../sync/index.ts";

/** What is made anew at every start, or is in the backup anyway. */
const NOT_KEPT = /^(coordination\.db.*|main\.lock.*|endpoint\.json|.*\.(sock|pid|part|new|html|log)|restoring\.json)$/;
const NAME = /^[\w.-]{1,100}$/;

export async function privateFilesOf(
  dataDir: string,
  others: readonly string[],
): Promise<(BackupSource & { readonly name: string })[]> {
  const own = (await readdir(dataDir)).filter((name) => NAME.test(name) && !NOT_KEPT.test(name));
  const found: (BackupSource & { readonly name: string })[] = [];
  const taken = new Set<string>();
  for (const path of [...own.map((name) => join(dataDir, name)), ...others]) {
    const name = basename(path);
    const about = await stat(path).catch(() => undefined);
    if (!about?.isFile() || about.size > MAX_PRIVATE_BYTES || taken.has(name) || !NAME.test(name)) continue;
    if (found.length >= MAX_PRIVATE_FILES) break;
    taken.add(name);
    const content = await readFile(path);
    const sha256 = hash("sha256", content, "hex");
    found.push({ sha256, bytes: content.length, kind: "private", path, isNeeded: true, name });
  }
  return found;
}

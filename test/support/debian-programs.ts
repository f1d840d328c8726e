/** Programs of Debian packages, fetched into a private folder: the machine stays as it was. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FETCH_MS = 60_000;
const TRIES = 3;

export const hasProgram = (program: string, args: readonly string[] = ["--version"]): boolean =>
  spawnSync(program, args, { timeout: FETCH_MS }).status === 0;

/** Where the packages are unpacked, once for all runs of this user; undefined where they are not to be had. */
export function unpackedPackages(name: string, packages: readonly string[], program: string): string | undefined {
  const folder = join(tmpdir(), `ringrift-${name}-${process.getuid?.() ?? 0}`);
  if (existsSync(join(folder, program))) return folder;
  if (!hasProgram("apt-get") || !hasProgram("dpkg")) return undefined;
  mkdirSync(tmpdir(), { recursive: true });
  const work = mkdtempSync(join(tmpdir(), `ringrift-${name}-`));
  try {
    const found = () => readdirSync(work).filter((file) => file.endsWith(".deb"));
    // A mirror may fail for a moment, and what it has may have changed since somebody asked for its lists.
    for (let tries = 0; tries < TRIES && found().length < packages.length; tries += 1) {
      if (tries > 0) spawnSync("apt-get", ["update", "-qq"], { timeout: FETCH_MS });
      spawnSync("apt-get", ["download", ...packages], { cwd: work, timeout: FETCH_MS });
    }
    const debs = found();
    if (debs.length < packages.length) return undefined;
    for (const deb of debs) spawnSync("dpkg", ["-x", deb, "unpacked"], { cwd: work, timeout: FETCH_MS });
    try {
      renameSync(join(work, "unpacked"), folder);
    } catch {
      // Somebody else was first; two that fetch at once both bring the same.
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return existsSync(join(folder, program)) ? folder : undefined;
}

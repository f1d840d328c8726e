/** Where promtool is: on the path, or fetched from Debian into a private folder; the machine stays as it was. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FETCH_MS = 60_000;

const has = (program: string): boolean => spawnSync(program, ["--version"], { timeout: FETCH_MS }).status === 0;

/** Fetched once for all runs of this user; two that fetch at once both bring the same. */
function fetched(): string | undefined {
  const folder = join(tmpdir(), `ringrift-promtool-${process.getuid?.() ?? 0}`);
  const program = join(folder, "usr/bin/promtool");
  if (existsSync(program)) return program;
  if (!has("apt-get") || !has("dpkg")) return undefined;
  mkdirSync(tmpdir(), { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "ringrift-promtool-"));
  try {
    spawnSync("apt-get", ["download", "prometheus"], { cwd: work, timeout: FETCH_MS });
    const deb = readdirSync(work).find((name) => name.endsWith(".deb"));
    if (deb === undefined) return undefined;
    spawnSync("dpkg", ["-x", deb, "unpacked"], { cwd: work, timeout: FETCH_MS });
    try {
      renameSync(join(work, "unpacked"), folder);
    } catch {
      // Somebody else was first.
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return existsSync(program) ? program : undefined;
}

/** Undefined where it is not to be had: what needs it is skipped, and says so. */
export const findPromtool = (): string | undefined => (has("promtool") ? "promtool" : fetched());

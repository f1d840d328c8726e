/** Which process is the main process of a folder. A number alone proves nothing: it may belong to another program by now. */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";

const LOCK_FILE = "main.lock";
const PROC = "/proc";

const lockPath = (dataDir: string): string | undefined => {
  try {
    return join(realpathSync(dataDir), LOCK_FILE);
  } catch {
    return undefined;
  }
};

/** Whether this process has the folder's lock file open; undefined where the system or its rights do not let us see. */
export function holdsLock(pid: number, dataDir: string): boolean | undefined {
  const lock = lockPath(dataDir);
  if (lock === undefined) return false;
  const folder = join(PROC, String(pid), "fd");
  let open: string[];
  try {
    open = readdirSync(folder);
  } catch (thrown) {
    if (process.platform !== "linux") return undefined;
    return (thrown as NodeJS.ErrnoException).code === "ENOENT" ? false : undefined;
  }
  return open.some((fd) => {
    try {
      return readlinkSync(join(folder, fd)) === lock;
    } catch {
      // It was closed between the two looks.
      return false;
    }
  });
}

/** The process that holds the folder's lock, found without anything that it wrote down; where the system shows it. */
export function findHolder(dataDir: string): number | undefined {
  if (process.platform !== "linux") return undefined;
  return readdirSync(PROC)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => pid !== process.pid && holdsLock(pid, dataDir) === true);
}

/** Whether a process has ended, also if its parent has not taken notice. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "ESRCH";
  }
  try {
    // The name in brackets may hold anything; the state follows its last bracket.
    return /\)\s+Z\s/.test(readFileSync(join(PROC, String(pid), "stat"), "utf8"));
  } catch {
    return process.platform === "linux";
  }
}

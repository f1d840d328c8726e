import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { DISK_FAILS, OperatingError, syncFolder, translateDiskFault } from "../../kernel/index.ts";
import { runSome } from "./run-some.ts";

/** Up to so many are flushed by themselves, so many at once: that leaves alone what others have written. */
const EACH_FILES = 64;
const AT_ONCE = 8;

export interface Flusher {
  /** After this all of these files are on the disk. */
  files(paths: readonly string[]): Promise<void>;
  /** After this the names in these folders are. */
  folders(paths: readonly string[]): Promise<void>;
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Flushes the file system of a folder; `unknown` where the program does not know how. */
async function syncFileSystem(folder: string): Promise<"done" | "unknown"> {
  const program = spawn("sync", ["-f", folder], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  program.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = `${said}${text}`.slice(-500);
  });
  try {
    const [status] = (await once(program, "close")) as [number | null];
    if (status === 0) return "done";
  } catch {
    return "unknown";
  }
  // A program that does not know the option says so; one that the disk failed says that.
  if (/invalid|unrecognized|illegal|usage/i.test(said)) return "unknown";
  throw new OperatingError(DISK_FAILS.kind, DISK_FAILS.code, `${DISK_FAILS.says} (${said.trim()})`, {
    hint: DISK_FAILS.hint,
  });
}

/**
 * Many files are flushed by one flush of their file system: it costs what a few files cost, and 4,000 files by themselves would take
 * 4,000 of them. Whoever asks while one runs shares the next one with all others who do.
 */
export function createFlusher(): Flusher {
  const running = new Map<number, Promise<unknown>>();
  const next = new Map<number, Promise<"done" | "unknown">>();

  const flushSystem = async (folder: string): Promise<"done" | "unknown"> => {
    const { dev } = await stat(folder);
    const waiting = next.get(dev);
    if (waiting !== undefined) return waiting;
    const flush = (running.get(dev) ?? Promise.resolve())
      .catch(() => undefined)
      .then(() => {
        next.delete(dev);
        const flushing = syncFileSystem(folder);
        running.set(dev, flushing);
        return flushing;
      });
    next.set(dev, flush);
    return flush;
  };
  const flush = async (
    paths: readonly string[],
    folder: string,
    each: (path: string) => Promise<void>,
  ): Promise<void> => {
    try {
      if (paths.length > EACH_FILES && (await flushSystem(folder)) === "done") return;
      await runSome(
        paths.map((path) => () => each(path)),
        AT_ONCE,
      );
    } catch (thrown) {
      throw translateDiskFault(thrown);
    }
  };
  return {
    files: async (paths) => (paths.length === 0 ? undefined : flush(paths, dirname(paths[0]!), syncFile)),
    folders: async (paths) => (paths.length === 0 ? undefined : flush(paths, paths[0]!, syncFolder)),
  };
}

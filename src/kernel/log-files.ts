import {
  chmodSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Clock, sleep } from "./clock.ts";

/** The log of the main process within its data folder. */
export const logPathOf = (dataDir: string): string => join(dataDir, "logs", "ringrift.log");

export interface LogFileOptions {
  readonly path: string;
  /** Size at which a new file is begun. */
  readonly maxBytes: number;
  /** Files that are kept, the one being written among them. */
  readonly files: number;
}

/** A file of lines that never fails: what the disk refuses is counted, and told as soon as it takes lines again. */
export type LogFile = ReturnType<typeof openLogFile>;

/** `ringrift.log.3` is older than `ringrift.log.2`; `ringrift.log` is the newest. Oldest first. */
export function logFilesOf(path: string): { readonly path: string; readonly age: number }[] {
  const name = basename(path);
  let entries: string[];
  try {
    entries = readdirSync(dirname(path));
  } catch {
    return [];
  }
  return entries
    .flatMap((entry) => {
      if (entry === name) return [{ path, age: 0 }];
      const age = entry.startsWith(`${name}.`) ? Number(entry.slice(name.length + 1)) : Number.NaN;
      return Number.isSafeInteger(age) && age > 0 ? [{ path: join(dirname(path), entry), age }] : [];
    })
    .sort((a, b) => b.age - a.age);
}

export function openLogFile({ path, maxBytes, files }: LogFileOptions) {
  let file: number | undefined;
  let size = 0;
  let lost = 0;
  let untold = 0;
  /** The disk took half a line: the next one begins on a line of its own. */
  let torn = false;

  const close = () => {
    const old = file;
    file = undefined;
    if (old !== undefined) closeSync(old);
  };
  const reach = (): number => {
    if (file !== undefined) return file;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    file = openSync(path, "a", 0o600);
    chmodSync(path, 0o600);
    size = fstatSync(file).size;
    return file;
  };
  /** Each file becomes one older, the oldest goes, and the next line begins a new one. */
  const rotate = () => {
    const all = logFilesOf(path);
    for (const old of all) {
      if (old.age + 1 >= files) rmSync(old.path, { force: true });
      else renameSync(old.path, `${path}.${old.age + 1}`);
    }
    close();
  };
  const put = (line: string) => {
    const bytes = Buffer.from(torn ? `\n${line}` : line);
    const taken = writeSync(reach(), bytes);
    size += taken;
    torn = taken > 0 && taken < bytes.length;
    if (taken < bytes.length) throw new Error("the disk took half a line");
  };
  /** A log that cannot be kept is no reason to end: the line is on standard error, and the loss is counted. */
  const attempt = (work: () => void): boolean => {
    try {
      work();
      return true;
    } catch {
      try {
        close();
      } catch {
        // The descriptor is gone with whatever broke it.
      }
      return false;
    }
  };

  return {
    write(line: string) {
      const taken = attempt(() => {
        reach();
        if (size >= maxBytes) attempt(rotate);
        if (untold > 0) {
          put(`${JSON.stringify({ level: 40, lost: untold, msg: "the disk did not take these lines" })}\n`);
          untold = 0;
        }
        put(line);
      });
      if (taken) return;
      lost += 1;
      untold += 1;
    },
    /** Begins a new file if this one is full, and removes those beyond the count. True if a new one was begun. */
    tidy() {
      let begun = false;
      attempt(() => {
        // Others append to it as well, so its size is asked for.
        const { size: now } = statSync(path);
        begun = now >= maxBytes;
        if (begun) rotate();
      });
      attempt(() => {
        for (const old of logFilesOf(path)) if (old.age >= files) rmSync(old.path, { force: true });
      });
      return begun;
    },
    /** Lines that the disk did not take. */
    get lost(): number {
      return lost;
    },
    close: () => void attempt(close),
  };
}

export interface ReadLogOptions {
  readonly path: string;
  /** Go on with what is written from now on, until the signal aborts. */
  readonly follow?: { readonly clock: Clock; readonly signal: AbortSignal; readonly everyMs?: number };
}

const CHUNK_BYTES = 65_536;
/** A line that is longer comes in pieces. */
const MAX_LINE_BYTES = 1_048_576;
const FOLLOW_EVERY_MS = 250;

/** The lines of all kept files, oldest first, each once, also while files are rotated under the reader. */
export async function* readLogLines({ path, follow }: ReadLogOptions): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  /** What the file holds from here on; the begin of a line that has no end yet is kept. */
  async function* linesOf(file: FileHandle): AsyncGenerator<string> {
    for await (const chunk of chunksOf(file)) {
      rest = Buffer.concat([rest, chunk]);
      let from = 0;
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, from)) {
        yield rest.toString("utf8", from, end);
        from = end + 1;
      }
      rest = rest.subarray(from);
      if (rest.length <= MAX_LINE_BYTES) continue;
      yield rest.toString("utf8");
      rest = Buffer.alloc(0);
    }
  }
  let at = await openAfter(path, undefined);
  try {
    for (;;) {
      if (at !== undefined) yield* linesOf(at.file);
      const next = await openAfter(path, at?.inode);
      if (next !== undefined) {
        // What was written between the last read and the rotation is still in the old one.
        if (at !== undefined) yield* linesOf(at.file);
        await at?.file.close();
        at = next;
        continue;
      }
      if (follow === undefined || follow.signal.aborted) {
        if (rest.length > 0) yield rest.toString("utf8");
        return;
      }
      await sleep(follow.clock, follow.everyMs ?? FOLLOW_EVERY_MS, follow.signal).catch(() => undefined);
    }
  } finally {
    await at?.file.close();
  }
}

interface OpenLog {
  readonly file: FileHandle;
  readonly inode: bigint;
}

/** Opens the file that follows the one with this inode; the oldest if that is gone or there was none; undefined at the newest. */
async function openAfter(path: string, inode: bigint | undefined): Promise<OpenLog | undefined> {
  for (;;) {
    const all = logFilesOf(path);
    const inodes = all.map((each) => inodeOf(each.path));
    const known = inode === undefined ? -1 : inodes.indexOf(inode);
    const wanted = all[known + 1];
    if (wanted === undefined) return undefined;
    const file = await open(wanted.path).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== "ENOENT") throw thrown;
      return undefined;
    });
    if (file === undefined) continue;
    const found = (await file.stat({ bigint: true })).ino;
    // Rotated between looking and opening: what was opened may be another file than the one that was meant.
    if (found === inodes[known + 1]) return { file, inode: found };
    await file.close();
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

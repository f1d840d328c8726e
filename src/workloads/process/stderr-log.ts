/**
 * Keeps what a program writes to standard error: the last 64 KB in memory, and a file that is never larger than it may
 * be. When it is full it becomes the one older file, and a new one begins.
 */
import { mkdir, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";

const TAIL_BYTES = 64 * 1024;
/** What may wait for a slow disk; beyond it the log has a gap, and says so. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The last bytes of a stream, in a few pieces. */
function createTail(maxBytes: number) {
  let pieces: Buffer[] = [];
  let size = 0;
  return {
    push(chunk: Buffer) {
      // A copy: the reader's own piece of memory may be far larger than what is kept of it.
      const kept = Buffer.from(chunk.length > maxBytes ? chunk.subarray(chunk.length - maxBytes) : chunk);
      pieces.push(kept);
      size += kept.length;
      while (size - pieces[0]!.length >= maxBytes) size -= pieces.shift()!.length;
      if (pieces.length > 1_000) pieces = [Buffer.concat(pieces)];
    },
    clear() {
      pieces = [];
      size = 0;
    },
    text: (): string => {
      const all = Buffer.concat(pieces);
      return all.subarray(Math.max(0, all.length - maxBytes)).toString("utf8");
    },
  };
}

export function createStderrLog(file: string | undefined, maxFileBytes: number, failed: (error: unknown) => void) {
  const tail = createTail(TAIL_BYTES);
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let written: number | undefined;
  let bytes = 0;
  let dropped = 0;
  let broken = file === undefined;
  let writing: Promise<void> | undefined;

  const writeAll = async (path: string): Promise<void> => {
    if (written === undefined) {
      await mkdir(dirname(path), { recursive: true });
      // The program before this one may have written here: its words stay until there is no room.
      written = await stat(path).then(
        ({ size }) => size,
        () => 0,
      );
    }
    while (waiting.length > 0) {
      const batch = Buffer.concat(waiting);
      waiting = [];
      waitingBytes = 0;
      if (written > 0 && written + batch.length > maxFileBytes) {
        await rename(path, `${path}.1`);
        written = 0;
      }
      const kept = batch.subarray(Math.max(0, batch.length - maxFileBytes));
      dropped += batch.length - kept.length;
      const handle = await open(path, "a");
      try {
        await handle.write(kept);
      } finally {
        await handle.close();
      }
      written += kept.length;
    }
  };

  const write = (): void => {
    if (broken || file === undefined || writing !== undefined) return;
    writing = writeAll(file)
      .catch((thrown: unknown) => {
        // A disk that is full must not end a job; the tail in memory remains.
        broken = true;
        waiting = [];
        failed(thrown);
      })
      .finally(() => {
        writing = undefined;
        if (waiting.length > 0) write();
      });
  };

  return {
    push(chunk: Buffer): void {
      bytes += chunk.length;
      tail.push(chunk);
      if (broken || waitingBytes + chunk.length > MAX_WAITING_BYTES) {
        dropped += chunk.length;
        return;
      }
      waiting.push(Buffer.from(chunk));
      waitingBytes += chunk.length;
      write();
    },
    /** What came since the last `mark`, or its end. */
    tail: tail.text,
    mark: tail.clear,
    /** Bytes that came, and bytes that were not kept in the file. */
    get bytes() {
      return bytes;
    },
    get dropped() {
      return dropped;
    },
    /** Resolves when all that was taken is in the file. */
    async close(): Promise<void> {
      while (writing !== undefined) await writing;
    },
  };
}

export type StderrLog = ReturnType<typeof createStderrLog>;

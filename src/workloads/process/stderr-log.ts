/**
 * Keeps what a program writes to standard error: the last 64 KB in memory, and a file that is never larger than it may
 * be. When it is full it becomes the one older file, and a new one begins.
 */
import { mkdir, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";

const TAIL_BYTES = 64 * 1024;
/** What may wait for a slow disk; beyond it the log has a gap, and says so. */
const MOST_WAITING_BYTES = 1024 * 1024;

export interface StderrLog {
  push(chunk: Buffer): void;
  /** What came since the last `mark`, or its end. */
  tail(): string;
  mark(): void;
  /** Bytes that came, and bytes that were not kept in the file. */
  readonly bytes: number;
  readonly dropped: number;
  /** Resolves when all that was taken is in the file. */
  close(): Promise<void>;
}

/** The last bytes of a stream, in a few pieces. */
function createTail(mostBytes: number) {
  let pieces: Buffer[] = [];
  let size = 0;
  return {
    push(chunk: Buffer) {
      // A copy: the reader's own piece of memory may be far larger than what is kept of it.
      const kept = Buffer.from(chunk.length > mostBytes ? chunk.subarray(chunk.length - mostBytes) : chunk);
      pieces.push(kept);
      size += kept.length;
      while (size - pieces[0]!.length >= mostBytes) size -= pieces.shift()!.length;
      if (pieces.length > 1_000) pieces = [Buffer.concat(pieces)];
    },
    clear() {
      pieces = [];
      size = 0;
    },
    text: (): string => {
      const all = Buffer.concat(pieces);
      return all.subarray(Math.max(0, all.length - mostBytes)).toString("utf8");
    },
  };
}

export function createStderrLog(
  file: string | undefined,
  mostFileBytes: number,
  failed: (error: unknown) => void,
): StderrLog {
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
      if (written > 0 && written + batch.length > mostFileBytes) {
        await rename(path, `${path}.1`);
        written = 0;
      }
      const kept = batch.subarray(Math.max(0, batch.length - mostFileBytes));
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
    push(chunk) {
      bytes += chunk.length;
      tail.push(chunk);
      if (broken || waitingBytes + chunk.length > MOST_WAITING_BYTES) {
        dropped += chunk.length;
        return;
      }
      waiting.push(Buffer.from(chunk));
      waitingBytes += chunk.length;
      write();
    },
    tail: tail.text,
    mark: tail.clear,
    get bytes() {
      return bytes;
    },
    get dropped() {
      return dropped;
    },
    async close() {
      while (writing !== undefined) await writing;
    },
  };
}

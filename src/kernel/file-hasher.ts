import type { FileHandle } from "node:fs/promises";
import { createAskedThread, moduleBeside } from "./asked-thread.ts";
import type { OperatingError } from "./errors.ts";

export interface FileHash {
  readonly sha256: string;
  readonly bytes: number;
}

/** SHA-256 of files, on a thread that starts when it is first needed and keeps no process alive. */
export interface FileHasher {
  /**
   * Of a file by its path, or of one that is held open: then what is hashed is what was checked.
   */
  hash(file: string | FileHandle, signal?: AbortSignal): Promise<FileHash>;
  /** Of what a file holds from a byte on. */
  hashFrom(path: string, offset: number): Promise<FileHash>;
  close(): Promise<void>;
}

/** What the thread is asked. */
export interface HashQuestion {
  readonly file: string | number;
  readonly offset: number;
}

/** What has no more bytes than this is hashed at once: at 1 GB/s that is a quarter of a millisecond. */
export const SMALL_BYTES = 256 * 1024;

/** The bytes of a small file; undefined if it has more. */
async function readSmall(file: FileHandle): Promise<Buffer | undefined> {
  if ((await file.stat()).size > SMALL_BYTES) return undefined;
  const buffer = Buffer.allocUnsafe(SMALL_BYTES + 1);
  let at = 0;
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at, at);
    if (bytesRead === 0) return buffer.subarray(0, at);
    at += bytesRead;
  }
  return undefined;
}

/** `unreadable` says what it means to its room that a file cannot be read; with the file system's code, if it gave one. */
export function createFileHasher(unreadable: (message: string, code?: string) => OperatingError): FileHasher {
  const thread = createAskedThread<HashQuestion, FileHash>(
    moduleBeside(import.meta.url, "./file-hasher.thread"),
    unreadable,
  );
  return {
    async hash(file, signal) {
      if (typeof file === "string") return thread.ask({ file, offset: 0 }, signal);
      const small = await readSmall(file);
      // Loaded by those who hash: a command that only asks need not wait for it.
      const { hash } = process.getBuiltinModule("node:crypto");
      if (small !== undefined) return { sha256: hash("sha256", small, "hex"), bytes: small.length };
      return thread.ask({ file: file.fd, offset: 0 }, signal);
    },
    hashFrom: (file, offset) => thread.ask({ file, offset }),
    close: thread.close,
  };
}

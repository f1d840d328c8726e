import { hash } from "node:crypto";
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
  close(): Promise<void>;
}

/** An open file up to this size is hashed at once: at 1 GB/s that is a quarter of a millisecond. */
const SMALL_BYTES = 256 * 1024;

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
  const thread = createAskedThread<string | number, FileHash>(
    moduleBeside(import.meta.url, "./file-hasher.thread"),
    unreadable,
  );
  return {
    async hash(file, signal) {
      if (typeof file === "string") return thread.ask(file, signal);
      const small = await readSmall(file);
      if (small !== undefined) return { sha256: hash("sha256", small, "hex"), bytes: small.length };
      return thread.ask(file.fd, signal);
    },
    close: thread.close,
  };
}

import { hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { OperatingError } from "../../kernel/index.ts";

/** SHA-256 of open files. A small one is hashed at once, a larger one on a thread that starts when it is first needed. */
export interface Hasher {
  sha256(file: FileHandle, bytes: number): Promise<string>;
  close(): Promise<void>;
}

/** At 1 GB/s this is a quarter of a millisecond. */
const SMALL_BYTES = 256 * 1024;

interface Answer {
  readonly id: number;
  readonly sha256?: string;
  readonly error?: string;
}

const unreadable = (message: string) =>
  new OperatingError("WORKLOAD_FILE_UNREADABLE", `A file could not be hashed: ${message}.`, {
    retryable: true,
    hint: "Look at the disk of this machine.",
  });

async function readAll(file: FileHandle, bytes: number): Promise<Buffer> {
  // One byte more than it should have: a file that grew has another hash.
  const buffer = Buffer.allocUnsafe(bytes + 1);
  let at = 0;
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return buffer.subarray(0, at);
}

export function createHasher(): Hasher {
  const file = new URL(import.meta.url.endsWith(".ts") ? "./hash.thread.ts" : "./hash.thread.js", import.meta.url);
  const waiting = new Map<number, PromiseWithResolvers<string>>();
  let thread: Worker | undefined;
  let ids = 0;

  const fail = (message: string) => {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(unreadable(message));
    waiting.clear();
  };

  const start = (): Worker => {
    const worker = new Worker(file);
    worker.on("message", ({ id, sha256, error }: Answer) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) worker.unref();
      if (sha256 === undefined) asked?.reject(unreadable(error ?? "no answer"));
      else asked?.resolve(sha256);
    });
    worker.on("error", (error) => fail(error.message));
    worker.on("exit", () => fail("the thread ended"));
    return worker;
  };

  return {
    async sha256(handle, bytes) {
      if (bytes <= SMALL_BYTES) return hash("sha256", await readAll(handle, bytes), "hex");
      thread ??= start();
      thread.ref();
      ids += 1;
      const asked = Promise.withResolvers<string>();
      waiting.set(ids, asked);
      thread.postMessage({ id: ids, fd: handle.fd });
      return asked.promise;
    },
    async close() {
      await thread?.terminate();
      thread = undefined;
    },
  };
}

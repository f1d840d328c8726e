import { Worker } from "node:worker_threads";
import { OperatingError } from "../kernel/index.ts";

export interface FileHash {
  readonly sha256: string;
  readonly bytes: number;
}

/** SHA-256 of files, on a thread that starts when it is first needed and keeps no process alive. */
export interface FileHasher {
  /** Rejects with the code of the file system in `details.code` if the file cannot be read. */
  hash(path: string, signal?: AbortSignal): Promise<FileHash>;
  close(): Promise<void>;
}

interface Answer {
  readonly id: number;
  readonly found?: FileHash;
  readonly failed?: { readonly code?: string; readonly message: string };
}

const unreadable = (message: string, code?: string) =>
  new OperatingError("ARTIFACT_UNREADABLE", `a file of the store could not be read: ${message}`, {
    retryable: true,
    hint: "Look at the disk of this machine.",
    details: { code },
  });

export function createFileHasher(): FileHasher {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const waiting = new Map<number, PromiseWithResolvers<FileHash>>();
  let thread: Worker | undefined;
  let ids = 0;

  const start = (): Worker => {
    const worker = new Worker(new URL(`./hash.thread.${extension}`, import.meta.url));
    const gone = (message: string) => {
      if (thread === worker) thread = undefined;
      for (const { reject } of waiting.values()) reject(unreadable(message));
      waiting.clear();
    };
    worker.on("message", ({ id, found, failed }: Answer) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) worker.unref();
      if (found === undefined) asked?.reject(unreadable(failed?.message ?? "no answer", failed?.code));
      else asked?.resolve(found);
    });
    worker.on("error", (error) => gone(error.message));
    worker.on("exit", () => gone("the thread ended"));
    return worker;
  };

  return {
    async hash(path, signal) {
      signal?.throwIfAborted();
      thread ??= start();
      thread.ref();
      ids += 1;
      const id = ids;
      const asked = Promise.withResolvers<FileHash>();
      waiting.set(id, asked);
      const stop = () => asked.reject(signal?.reason);
      signal?.addEventListener("abort", stop, { once: true });
      thread.postMessage({ id, path });
      try {
        return await asked.promise;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
    async close() {
      await thread?.terminate();
      thread = undefined;
    },
  };
}

/**
 * The body of a thread that hashes files. It reads a piece of each in turn, so that a small one never waits until a large
 * one is done.
 */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { parentPort } from "node:worker_threads";
import { assert, messageOf } from "../kernel/index.ts";

const CHUNK_BYTES = 1 << 20;

assert(parentPort, "hash.thread runs in a worker thread");
const port = parentPort;

async function hashOf(path: string): Promise<{ sha256: string; bytes: number }> {
  const file = await open(path, "r");
  try {
    const hash = createHash("sha256");
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, bytes);
      if (bytesRead === 0) return { sha256: hash.digest("hex"), bytes };
      hash.update(chunk.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

port.on("message", ({ id, path }: { id: number; path: string }) => {
  hashOf(path).then(
    (found) => port.postMessage({ id, found }),
    (thrown: unknown) =>
      port.postMessage({ id, failed: { code: (thrown as { code?: string }).code, message: messageOf(thrown) } }),
  );
});

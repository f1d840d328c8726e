/** The body of a thread that hashes open files: their size must never hold up the loop of the process. */
import { createHash } from "node:crypto";
import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { assert, messageOf } from "../../kernel/index.ts";

const CHUNK_BYTES = 1 << 20;

assert(parentPort, "hash.thread runs in a worker thread");
const port = parentPort;
const chunk = Buffer.allocUnsafe(CHUNK_BYTES);

/** Descriptors belong to the whole process: the one that was checked is the one that is read. */
function sha256(fd: number): string {
  const hash = createHash("sha256");
  let at = 0;
  for (;;) {
    const read = readSync(fd, chunk, 0, CHUNK_BYTES, at);
    if (read === 0) return hash.digest("hex");
    hash.update(chunk.subarray(0, read));
    at += read;
  }
}

port.on("message", ({ id, fd }: { id: number; fd: number }) => {
  try {
    port.postMessage({ id, sha256: sha256(fd) });
  } catch (thrown) {
    port.postMessage({ id, error: messageOf(thrown) });
  }
});

/**
 * The body of a thread that hashes files. It reads a piece of each in turn, so that a small one never waits until a large
 * one is done.
 */
import { createHash } from "node:crypto";
import { read } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { answerQuestions } from "./asked-thread.ts";
import type { FileHash, HashQuestion } from "./file-hasher.ts";

const CHUNK_BYTES = 1 << 20;

const readInto = promisify(read);

async function hashOpen(fd: number, offset: number): Promise<FileHash> {
  const hash = createHash("sha256");
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  for (;;) {
    const { bytesRead } = await readInto(fd, chunk, 0, CHUNK_BYTES, offset + bytes);
    if (bytesRead === 0) return { sha256: hash.digest("hex"), bytes };
    hash.update(chunk.subarray(0, bytesRead));
    bytes += bytesRead;
  }
}

async function hashAt(path: string, offset: number): Promise<FileHash> {
  const file = await open(path, "r");
  try {
    return await hashOpen(file.fd, offset);
  } finally {
    await file.close();
  }
}

/** Descriptors belong to the whole process: the one that was checked is the one that is read. */
answerQuestions(({ file, offset }: HashQuestion) =>
  typeof file === "number" ? hashOpen(file, offset) : hashAt(file, offset),
);

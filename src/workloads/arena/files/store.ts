/** Files on disk: read only up to a limit. */

import { open, readFile, stat } from "node:fs/promises";
import { systemCode } from "../../../kernel/index.ts";
import { MAGIC, MAX_FILE_BYTES } from "./container.ts";
import { fileFault } from "./errors.ts";

/** The bytes of a file that is not too large. */
export async function readWithin(path: string, maxBytes = MAX_FILE_BYTES): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > maxBytes)
      throw fileFault("ARENA_FILE_TOO_LARGE", `${path} has ${size} bytes; at most ${maxBytes} are read.`);
    return await readFile(path);
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") throw fileFault("ARENA_FILE_NOT_FOUND", `There is no file ${path}.`, thrown);
    throw thrown;
  }
}

/** Whether a file starts with our mark. Of others, which may be of any size, nothing more is read. */
export async function isArenaFile(path: string): Promise<boolean> {
  await using file = await open(path, "r");
  const { buffer } = await file.read({ buffer: Buffer.alloc(MAGIC.length) });
  return buffer.equals(MAGIC);
}

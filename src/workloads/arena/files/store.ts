/** Files on disk: read only up to a limit. */

import { readFile, stat } from "node:fs/promises";
import { systemCode } from "../../../kernel/index.ts";
import { MAX_FILE_BYTES } from "./container.ts";
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

import { closeSync, openSync, readSync } from "node:fs";
import { systemCode } from "../../kernel/index.ts";

const beyond = Buffer.alloc(1);

/**
 * Reads a file that fills the given bytes; false if there is none, or one of another size. Synchronous, for threads that have nothing else
 * to do.
 */
export function readSmallFile(path: string, content: Buffer): boolean {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (thrown) {
    if (systemCode(thrown) !== "ENOENT") throw thrown;
    return false;
  }
  try {
    for (let at = 0; at < content.length; ) {
      const read = readSync(file, content, at, content.length - at, at);
      if (read === 0) return false;
      at += read;
    }
    return readSync(file, beyond, 0, 1, content.length) === 0;
  } finally {
    closeSync(file);
  }
}

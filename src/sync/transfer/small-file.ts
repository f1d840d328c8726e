import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { systemCode } from "../../kernel/index.ts";

/** The file of this size, or undefined if there is none. Synchronous, for threads that have nothing else to do. */
export function readSmallFile(path: string, bytes: number): Uint8Array | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (thrown) {
    if (systemCode(thrown) !== "ENOENT") throw thrown;
    return undefined;
  }
  try {
    if (fstatSync(file).size !== bytes) return undefined;
    const content = Buffer.allocUnsafe(bytes);
    for (let at = 0; at < bytes; ) {
      const read = readSync(file, content, at, bytes - at, at);
      if (read === 0) return undefined;
      at += read;
    }
    return content;
  } finally {
    closeSync(file);
  }
}

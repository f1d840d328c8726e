import { closeSync, constants, openSync, readSync } from "node:fs";
import { stat } from "node:fs/promises";
import { readPlainFile } from "../files/structure.ts";
import type { FilePlace } from "./structure-reader.ts";

/** Reads files, and bytes in the midst of others, one after the other: many of those stand in one file, which stays open meanwhile. */
export function createPlaceReader(maxBytes: number) {
  let last: { readonly path: string; readonly file: number } | undefined;
  const close = (): void => {
    if (last !== undefined) closeSync(last.file);
    last = undefined;
  };
  return {
    close,
    /** Undefined if it has more bytes than are read. */
    async read({ path, at, bytes }: FilePlace): Promise<Buffer | undefined> {
      if (at === undefined || bytes === undefined)
        return (await stat(path)).size > maxBytes ? undefined : readPlainFile(path, maxBytes);
      if (bytes > maxBytes) return undefined;
      if (last?.path !== path) {
        close();
        last = { path, file: openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW) };
      }
      const content = Buffer.allocUnsafe(bytes);
      let done = 0;
      for (let read = -1; done < bytes && read !== 0; done += read)
        read = readSync(last.file, content, done, bytes - done, at + done);
      return content.subarray(0, done);
    },
  };
}

import { closeSync, openSync, renameSync, writeSync } from "node:fs";

export interface NewFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/** Makes small files, here or on a thread of its own: a file that is made one by one costs more than all else that is done with it. */
export interface FileMaker {
  /** Resolves when the bytes may be used for something else, with a promise that says when all of these files are written. */
  write(files: readonly NewFile[]): Promise<{ readonly done: Promise<void> }>;
  /** From, to; all that were to be written before are. */
  rename(names: readonly (readonly [string, string])[]): Promise<void>;
}

/**
 * Writes a whole small file. Synchronous, since this is never the main loop: four calls to the system take 40 us here, and
 * four times as much with a thread for each in between.
 */
export function writeWhole({ path, content }: NewFile): void {
  const file = openSync(path, "w", 0o600);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at, content.length - at);
  } finally {
    closeSync(file);
  }
}

/** For a few of them a thread is not worth it. */
export const makeHere: FileMaker = {
  async write(files) {
    const done = (async () => {
      for (const file of files) writeWhole(file);
    })();
    done.catch(() => undefined);
    return { done };
  },
  async rename(names) {
    for (const [from, to] of names) renameSync(from, to);
  },
};

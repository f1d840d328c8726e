import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../kernel/index.ts";
import { type FileFacts, factsOf, isSha256 } from "./disk.ts";

/** A file of the store as it lies there. */
export interface StoredFile extends FileFacts {
  readonly sha256: string;
  readonly name: string;
  /** Only a part of it has come. */
  readonly isPart: boolean;
}

const namesIn = async (folder: string): Promise<string[]> => {
  try {
    return (await readdir(folder)).sort();
  } catch (thrown) {
    if (systemCode(thrown) !== "ENOENT") throw thrown;
    return [];
  }
};

/** The 256 folders of a store, by the first two letters of their files' names. */
export const PREFIXES: readonly string[] = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));

/** Looks at the folders of a store: what lies there, and what was set aside. Names that are not ours are left alone. */
export function storedFiles(folder: string) {
  const quarantine = join(folder, "quarantine");
  return {
    quarantine,
    async filesIn(prefix: string): Promise<StoredFile[]> {
      const files: StoredFile[] = [];
      for (const name of await namesIn(join(folder, prefix))) {
        const isPart = name.endsWith(".part");
        // Behind the hash of the whole stands who sends the part.
        const [sha256 = ""] = isPart ? name.split(".") : [name];
        if (!isSha256(sha256) || !sha256.startsWith(prefix)) continue;
        const facts = await factsOf(join(folder, prefix, name));
        if (facts !== undefined) files.push({ sha256, name, isPart, ...facts });
      }
      return files;
    },
    async emptyQuarantine(before: number, max: number): Promise<number> {
      let gone = 0;
      for (const name of await namesIn(quarantine)) {
        const [sha256 = "", at = ""] = name.split(".");
        if (gone >= max || !isSha256(sha256) || !(Number(at) < before)) continue;
        await rm(join(quarantine, name), { force: true });
        gone += 1;
      }
      return gone;
    },
  };
}

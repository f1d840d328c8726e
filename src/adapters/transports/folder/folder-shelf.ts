/** What lies in a folder on a mounted disk. Its marker is looked at before and after: a disk may go while it is listed. */

import { randomUUID } from "node:crypto";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isOperatingError, OperatingError, syncFolder, systemCode, translateDiskFault } from "../../../kernel/index.ts";
import type { Shelf, Shelved } from "../../../sync/index.ts";
import { makeFolder } from "../../../sync/transfer/index.ts";
import {
  DOCUMENT_FOLDERS,
  isDocumentName,
  isShelfName,
  MAX_SHELVED,
  nameTaken,
  noDocument,
  notAName,
  tooLarge,
  tooMany,
} from "../shelf-names.ts";

const HEX = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));

export function folderShelf(path: string, place: string, checkMarker: () => Promise<void>): Shelf {
  /** What a failed call means: the disk is gone, or it is there and in trouble. */
  const explain = async (thrown: unknown, what: string): Promise<unknown> => {
    if (isOperatingError(thrown)) return thrown;
    await checkMarker();
    const fault = translateDiskFault(thrown);
    return OperatingError.unavailable(what, `${place}: ${(fault as Error).message}`, { cause: thrown });
  };
  const namesIn = async (folder: string): Promise<string[]> => {
    try {
      return await readdir(join(path, folder));
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") return [];
      throw await explain(thrown, "PLACE_UNREADABLE");
    }
  };
  return {
    async list(signal) {
      await checkMarker();
      const all: Shelved[] = [];
      for (const folder of [...HEX, ...DOCUMENT_FOLDERS])
        for (const name of await namesIn(folder)) {
          signal.throwIfAborted();
          const shelved = `${folder}/${name}`;
          if (!isShelfName(shelved)) continue;
          const about = await stat(join(path, shelved)).catch((thrown: unknown) => {
            if (systemCode(thrown) === "ENOENT") return undefined;
            throw thrown;
          });
          if (about?.isFile()) all.push({ name: shelved, bytes: about.size });
          if (all.length > MAX_SHELVED) throw tooMany(place);
        }
      await checkMarker();
      return all;
    },
    async put(name, content, signal) {
      if (!isDocumentName(name)) throw notAName(name);
      await checkMarker();
      signal.throwIfAborted();
      const target = join(path, name);
      const part = `${target}.${randomUUID()}.part`;
      try {
        await makeFolder(dirname(target));
        const file = await open(part, "wx", 0o600);
        try {
          await file.writeFile(content);
          await file.sync();
        } finally {
          await file.close();
        }
        // Drives from a shop often know no second names (exFAT), so this is looked up: one coordinator writes to a place.
        const there = await readFile(target).catch(() => undefined);
        if (there === undefined) await rename(part, target);
        else if (!there.equals(content)) throw nameTaken(place, name);
        await syncFolder(dirname(target));
      } catch (thrown) {
        throw await explain(thrown, "PLACE_UNWRITABLE");
      } finally {
        await rm(part, { force: true });
      }
    },
    async get(name, maxBytes, signal) {
      if (!isDocumentName(name)) throw notAName(name);
      try {
        if ((await stat(join(path, name))).size > maxBytes) throw tooLarge(place, name, maxBytes);
        return await readFile(join(path, name), { signal });
      } catch (thrown) {
        signal.throwIfAborted();
        if (systemCode(thrown) !== "ENOENT") throw await explain(thrown, "PLACE_UNREADABLE");
        await checkMarker();
        throw noDocument(place, name);
      }
    },
    async remove(name, signal) {
      if (!isShelfName(name)) throw notAName(name);
      await checkMarker();
      signal.throwIfAborted();
      try {
        await rm(join(path, name), { force: true });
      } catch (thrown) {
        throw await explain(thrown, "PLACE_UNWRITABLE");
      }
    },
  };
}

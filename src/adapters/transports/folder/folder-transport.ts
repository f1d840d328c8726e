/** A folder on a mounted disk, with artifacts as the store keeps them: `<2 hex>/<sha256>`. */

import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OperatingError, syncFolder, systemCode, translateDiskFault, writeDurably } from "../../../kernel/index.ts";
import type { Transport, Wanted } from "../../../sync/index.ts";
import { makeFolder, packOf, prefixDigests, readSmallFile } from "../../../sync/transfer/index.ts";
import { DISK_MARKER } from "../disk-marker.ts";
import { folderShelf } from "./folder-shelf.ts";

const MAX_MARKER_BYTES = 200;
const READ_BYTES = 1_024 ** 2;

const notThere = (path: string, why: string) =>
  OperatingError.unavailable("PLACE_NOT_THERE", `${path} is not the disk that it should be: ${why}`, {
    hint: "Is the disk mounted? Missing files are ignored until it is.",
  });

/** What the marker of a folder says; undefined where there is none. */
export async function diskNameOf(path: string): Promise<string | undefined> {
  const said = await readFile(join(path, DISK_MARKER), "utf8").catch(() => undefined);
  return said?.trim().slice(0, MAX_MARKER_BYTES);
}

/** Makes a folder a place for artifacts. One that another disk is known by is left alone. */
export async function markDisk(path: string, disk: string): Promise<void> {
  const marker = join(path, DISK_MARKER);
  const said = await readFile(marker, "utf8").catch(() => undefined);
  if (said?.trim() === disk) return;
  if (said !== undefined)
    throw OperatingError.conflict("PLACE_TAKEN", `${path} is the disk '${said.trim().slice(0, MAX_MARKER_BYTES)}'`, {
      hint: "Use another folder, or its own name.",
    });
  await makeFolder(path);
  await writeDurably(marker, `${disk}\n`);
  await syncFolder(path);
}

async function checkMarker(path: string, disk: string): Promise<void> {
  const marker = join(path, DISK_MARKER);
  try {
    if ((await stat(marker)).size > MAX_MARKER_BYTES + 1) throw notThere(path, "its marker is no marker");
    const said = (await readFile(marker, "utf8")).trim();
    if (said !== disk) throw notThere(path, `its marker says '${said}', not '${disk}'`);
  } catch (thrown) {
    if (thrown instanceof OperatingError) throw thrown;
    throw notThere(path, systemCode(thrown) === "ENOENT" ? `it has no ${DISK_MARKER}` : String(systemCode(thrown)));
  }
}

/** What our own disk would say of itself, said of theirs: another place may take it. */
const refusedBy = (place: string, thrown: unknown): unknown => {
  const fault = translateDiskFault(thrown);
  if (fault === thrown || !(fault instanceof OperatingError)) return thrown;
  return OperatingError.unavailable("PLACE_UNWRITABLE", `${place} takes no files: ${fault.message}`, {
    cause: thrown,
    hint: fault.hint,
  });
};

/** Writes a copy beside its name, hashed as it goes, and gives it the name when all of it is on the disk and right. */
async function copyInto(
  made: Wanted & { readonly path: string },
  target: string,
  spend: (bytes: number) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await makeFolder(dirname(target));
  const part = `${target}.${randomUUID()}.part`;
  const file = await open(part, "wx", 0o600);
  try {
    const hash = createHash("sha256");
    let at = 0;
    for await (const chunk of createReadStream(made.path, { highWaterMark: READ_BYTES, signal })) {
      const bytes = chunk as Buffer;
      await spend(bytes.length);
      hash.update(bytes);
      for (let done = 0; done < bytes.length; )
        done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      at += bytes.length;
    }
    if (hash.digest("hex") !== made.sha256)
      throw OperatingError.internal("ARTIFACT_DAMAGED", `the file of ${made.sha256} is damaged and was not copied`, {
        retryable: true,
      });
    await file.sync();
    await rename(part, target);
    await syncFolder(dirname(target));
  } catch (thrown) {
    await rm(part, { force: true });
    throw thrown;
  } finally {
    await file.close();
  }
}

export function folderTransport({ path, disk }: { readonly path: string; readonly disk: string }): Transport {
  const place = `the disk '${disk}'`;
  const pathOf = ({ sha256 }: Wanted) => join(path, sha256.slice(0, 2), sha256);
  /** What a failed look means: the disk is gone, or it is there and has no such file. */
  const explain = async (thrown: unknown, { sha256 }: Wanted): Promise<unknown> => {
    if (thrown instanceof OperatingError) return thrown;
    await checkMarker(path, disk);
    return systemCode(thrown) === "ENOENT"
      ? OperatingError.notFound("ARTIFACT_NOT_FOUND", `${place} has no artifact ${sha256}`)
      : OperatingError.unavailable("PLACE_UNREADABLE", `${place} cannot be read (${systemCode(thrown)})`);
  };
  return {
    name: "folder",
    place,
    probe: () => checkMarker(path, disk),
    async *read(wanted, { start, signal }) {
      try {
        yield* createReadStream(pathOf(wanted), { start, highWaterMark: READ_BYTES, signal });
      } catch (thrown) {
        signal.throwIfAborted();
        throw await explain(thrown, wanted);
      }
    },
    async *readPack(wanted) {
      await checkMarker(path, disk);
      yield* packOf(wanted, (one, content) => readSmallFile(pathOf(one), content));
    },
    async digests(wanted, chunkBytes, signal) {
      try {
        return await prefixDigests(createReadStream(pathOf(wanted), { highWaterMark: READ_BYTES, signal }), chunkBytes);
      } catch (thrown) {
        throw await explain(thrown, wanted);
      }
    },
    async write(made, { signal, spend }) {
      await checkMarker(path, disk);
      const target = pathOf(made);
      if ((await stat(target).catch(() => undefined))?.size === made.bytes) return;
      try {
        await copyInto(made, target, spend, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        throw refusedBy(place, thrown);
      }
    },
    shelf: folderShelf(path, place, () => checkMarker(path, disk)),
    close() {},
  };
}

/** The files of a node, as it gives them to others: whole ones by their names, and those that are still on their way to it. */

import type { Stats } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { OperatingError, systemCode } from "../../../kernel/index.ts";
import type { Wanted } from "../../../sync/index.ts";
import { type GrowingFiles, isSha256, type PackStore, readSmallFile } from "../../../sync/transfer/index.ts";

const READ_BYTES = 1_024 ** 2;
/** Who was told that a file is coming here may be faster than the one who was told to fetch it. */
const BEGIN_MS = 10_000;

export interface ServedFilesOptions {
  /** Where the artifacts of this node lie: under `<2 hex>/<sha256>`, or all of them side by side. */
  readonly folder: string;
  readonly isFlat?: boolean | undefined;
  /** Where others of its artifacts lie together. */
  readonly packs?: Pick<PackStore, "files" | "find" | "read" | "readInto"> | undefined;
  readonly nodeId: string;
  /** What is on its way to this node: others get of it what has come. */
  readonly growing?: GrowingFiles | undefined;
}

/** The bytes of a file. Two buffers take turns, one is read while the other is lent: a new one for each piece costs more than to fill it. */
async function* readFrom(path: string, start: number): AsyncIterable<Uint8Array> {
  const file = await open(path, "r");
  try {
    let [lent, free] = [Buffer.allocUnsafe(READ_BYTES), Buffer.allocUnsafe(READ_BYTES)];
    let at = start;
    let reading = file.read(free, 0, READ_BYTES, at);
    try {
      for (;;) {
        const { bytesRead } = await reading;
        if (bytesRead === 0) return;
        at += bytesRead;
        [lent, free] = [free, lent];
        reading = file.read(free, 0, READ_BYTES, at);
        // Told to whoever asks for the next ones.
        reading.catch(() => undefined);
        yield lent.subarray(0, bytesRead);
      }
    } finally {
      await reading.catch(() => undefined);
    }
  } finally {
    await file.close();
  }
}

/** The bytes of a small file that are here already. */
async function* rest(content: Uint8Array, start: number): AsyncIterable<Uint8Array> {
  if (start < content.length) yield content.subarray(start);
}

export function servedFiles({ folder, isFlat = false, packs, nodeId, growing }: ServedFilesOptions) {
  const pathOf = ({ sha256 }: Pick<Wanted, "sha256">) =>
    isFlat ? join(folder, sha256) : join(folder, sha256.slice(0, 2), sha256);
  const lacking = (sha256: string) =>
    OperatingError.notFound("ARTIFACT_NOT_FOUND", `node ${nodeId} has no artifact ${sha256}`);

  /** A store that is not there, or empty, is a disk that is not mounted, and says nothing about its files. */
  const checkStore = async (): Promise<void> => {
    if (packs !== undefined && packs.files > 0) return;
    const names = await readdir(folder).catch(() => []);
    if (!names.some((name) => (isFlat ? isSha256(name) : /^[0-9a-f]{2}$/.test(name))))
      throw OperatingError.unavailable(
        "PLACE_NOT_THERE",
        `node ${nodeId} has no artifacts at all: its disk is not there`,
      );
  };
  /** In packs first: what moves becomes a file before it is gone from its pack. */
  const ifHere = async (sha256: string): Promise<Pick<Stats, "size" | "mtimeMs"> | undefined> => {
    const [packed] = (await packs?.find([sha256])) ?? [];
    if (packed != null) return { size: packed.bytes, mtimeMs: 0 };
    try {
      return await stat(pathOf({ sha256 }));
    } catch (thrown) {
      if (systemCode(thrown) !== "ENOENT") throw thrown;
      return undefined;
    }
  };
  const aboutOf = async (sha256: string): Promise<Pick<Stats, "size" | "mtimeMs">> => {
    const about = await ifHere(sha256);
    if (about !== undefined) return about;
    await checkStore();
    throw lacking(sha256);
  };
  const bytesOf = (sha256: string, start = 0): AsyncIterable<Uint8Array> => {
    const packed = packs?.read(sha256);
    return packed === undefined ? readFrom(pathOf({ sha256 }), start) : rest(packed, start);
  };

  return {
    /** Fills just the bytes of a small one, or says that it cannot. */
    readInto: (one: Wanted, content: Buffer): boolean =>
      packs?.readInto(one, content) === true || readSmallFile(pathOf(one), content),
    checkStore,
    aboutOf,
    bytesOf,
    /** The bytes of an artifact from a place on, and its size: of the whole file, or of one that is on its way if that will do. */
    async open(sha256: string, isComing: boolean, signal: AbortSignal) {
      if (isComing && (await ifHere(sha256)) === undefined) {
        await growing?.begun(sha256, BEGIN_MS, signal);
        const one = growing?.find(sha256);
        if (one !== undefined) return { size: one.bytes, from: (start: number) => one.read(start, signal) };
        // It has come meanwhile, or will not: this says nothing about what else lies here.
        if ((await ifHere(sha256)) === undefined) throw lacking(sha256);
      }
      const { size } = await aboutOf(sha256);
      return { size, from: (start: number) => bytesOf(sha256, start) };
    },
    /** Rejects unless it is here or on its way. */
    async checkComing(sha256: string): Promise<void> {
      if (growing?.find(sha256) === undefined && (await ifHere(sha256)) === undefined) throw lacking(sha256);
    },
  };
}

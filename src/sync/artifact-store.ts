import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isOperatingError, OperatingError } from "../kernel/index.ts";

export interface ArtifactStoreOptions {
  readonly folder: string;
  readonly mostBytes?: number;
  /** Files that come in at once. */
  readonly mostAtOnce?: number;
}

export const artifactStoreDefaults = { mostBytes: 16 * 1_024 ** 3, mostAtOnce: 16 } as const;

/** What is there of an artifact. */
export interface ArtifactStat {
  readonly sha256: string;
  /** Bytes of the whole; null while only a part is there. */
  readonly size: number | null;
  /** Bytes that need not be sent again. */
  readonly received: number;
}

export interface WriteRequest {
  readonly sha256: string;
  /** Where the bytes begin in the whole. */
  readonly offset: number;
  /** Bytes of the whole. */
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Bytes that are announced. */
  readonly length: number;
  /** Given the hash of what came, before it counts; throws to refuse it. */
  readonly accept: (bodySha256: string) => void;
  /** Keep what has come even if the rest does not; otherwise it goes. */
  readonly keepPart: boolean;
}

export interface ArtifactStore {
  stat(sha256: string): Promise<ArtifactStat>;
  /** Adds bytes; the artifact is whole, and in its place, when the last one has come and the hash is right. */
  write(request: WriteRequest): Promise<ArtifactStat>;
  /** Bytes of a whole artifact, from `start` up to and without `end`. */
  read(sha256: string, start: number, end: number): AsyncIterable<Uint8Array>;
  pathOf(sha256: string): string;
}

const SHA256 = /^[0-9a-f]{64}$/;

const sizeAt = async (path: string): Promise<number | null> => {
  try {
    return (await stat(path)).size;
  } catch (thrown) {
    if ((thrown as { code?: string }).code !== "ENOENT") throw thrown;
    return null;
  }
};

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

async function hashFile(path: string, into: Hash): Promise<void> {
  for await (const chunk of createReadStream(path)) into.update(chunk as Buffer);
}

/**
 * Files by their hash, under `<folder>/<2 hex>/<sha256>`. Bytes gather in a part beside it; when the last one is there the
 * hash is checked, the file flushed, renamed, and its folder flushed: who finds the name finds all of it.
 */
export function createArtifactStore(options: ArtifactStoreOptions): ArtifactStore {
  const { folder, mostBytes, mostAtOnce } = { ...artifactStoreDefaults, ...options };
  /** Only one writes an artifact at a time. */
  const busy = new Set<string>();
  const pathOf = (sha256: string): string => {
    if (!SHA256.test(sha256)) throw new OperatingError("INVALID_REQUEST", "sha256: not a SHA-256 in lower-case hex");
    return join(folder, sha256.slice(0, 2), sha256);
  };
  const partOf = (sha256: string) => `${pathOf(sha256)}.part`;

  const statOf = async (sha256: string): Promise<ArtifactStat> => {
    const size = await sizeAt(pathOf(sha256));
    if (size !== null) return { sha256, size, received: size };
    return { sha256, size: null, received: (await sizeAt(partOf(sha256))) ?? 0 };
  };

  /** The bytes of one request, behind those that are there. Gives the hash of what came. */
  const append = async (file: FileHandle, request: WriteRequest): Promise<string> => {
    const body = createHash("sha256");
    let at = request.offset;
    const end = request.offset + request.length;
    for await (const chunk of request.bytes) {
      if (at + chunk.length > end) throw new OperatingError("INVALID_REQUEST", "more bytes came than were announced");
      body.update(chunk);
      let written = 0;
      while (written < chunk.length) {
        const { bytesWritten } = await file.write(chunk, written, chunk.length - written, at + written);
        written += bytesWritten;
      }
      at += chunk.length;
    }
    if (at !== end)
      throw new OperatingError("ARTIFACT_CUT", "fewer bytes came than were announced", { retryable: true });
    return body.digest("hex");
  };

  const finish = async (sha256: string, file: FileHandle): Promise<void> => {
    const whole = createHash("sha256");
    await file.datasync();
    await hashFile(partOf(sha256), whole);
    if (whole.digest("hex") !== sha256) {
      await rm(partOf(sha256), { force: true });
      throw new OperatingError("ARTIFACT_HASH", `these bytes are not the artifact ${sha256}`, {
        hint: "Nothing of it was kept; send it anew.",
      });
    }
    await file.sync();
    await rename(partOf(sha256), pathOf(sha256));
    await syncFolder(join(folder, sha256.slice(0, 2)));
  };

  const receive = async (request: WriteRequest): Promise<ArtifactStat> => {
    const { sha256, offset, size, length } = request;
    await mkdir(join(folder, sha256.slice(0, 2)), { recursive: true, mode: 0o700 });
    const there = (await sizeAt(partOf(sha256))) ?? 0;
    if (offset > there)
      throw new OperatingError("ARTIFACT_OFFSET", `${there} bytes are there, these begin at ${offset}`, {
        retryable: true,
        hint: "Go on from what is there.",
        details: { received: there },
      });
    const file = await open(partOf(sha256), there === 0 ? "w+" : "r+", 0o600);
    let counted = false;
    try {
      await file.truncate(offset);
      request.accept(await append(file, request));
      counted = true;
      if (offset + length === size) await finish(sha256, file);
      else await file.datasync();
    } catch (thrown) {
      // What came over a proven connection is worth keeping; anything else must not spoil what was there.
      if (!counted && !(request.keepPart && !isOperatingError(thrown, "BAD_SIGNATURE")))
        await file.truncate(offset).catch(() => undefined);
      throw thrown;
    } finally {
      await file.close();
    }
    return statOf(sha256);
  };

  return {
    pathOf,
    stat: statOf,
    async write(request) {
      const { sha256, offset, size, length } = request;
      pathOf(sha256);
      if (size > mostBytes)
        throw new OperatingError("ARTIFACT_TOO_LARGE", `an artifact may have ${mostBytes} bytes, this has ${size}`);
      if (offset + length > size) throw new OperatingError("INVALID_REQUEST", "the bytes go beyond the end");
      const known = await statOf(sha256);
      if (known.size !== null) return known;
      if (busy.size >= mostAtOnce)
        throw new OperatingError("UPLOADS_BUSY", `${busy.size} files come in at the moment`, {
          retryable: true,
          details: { retryAfterSeconds: 1 },
        });
      if (busy.has(sha256))
        throw new OperatingError("ARTIFACT_BUSY", `somebody else brings the artifact ${sha256} at the moment`, {
          retryable: true,
          details: { retryAfterSeconds: 2 },
        });
      busy.add(sha256);
      try {
        return await receive(request);
      } finally {
        busy.delete(sha256);
      }
    },
    read(sha256, start, end) {
      return end <= start ? nothing() : createReadStream(pathOf(sha256), { start, end: end - 1 });
    },
  };
}

async function* nothing(): AsyncIterable<Uint8Array> {}

import { createHash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { type FileHasher, isOperatingError, OperatingError, SMALL_BYTES, syncFolder } from "../kernel/index.ts";
import { factsOf, makeFolder } from "./disk.ts";

export interface WriteRequest {
  readonly sha256: string;
  /** Where the bytes begin in the whole. */
  readonly offset: number;
  /** Bytes of the whole. */
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Bytes that are announced. */
  readonly length: number;
  /** Who sends them: what one sender has begun, no other goes on with or cuts short. */
  readonly from: string;
  /** Given the hash of what came, before it counts; throws to refuse it. */
  readonly accept: (bodySha256: string) => void;
}

export interface UploadPlace {
  /** Where the whole shall lie, and where its parts gather. */
  readonly path: string;
  readonly part: string;
  readonly hasher: Pick<FileHasher, "hash" | "hashFrom">;
  /** What is wrong with the structure of a file whose bytes are right; null if nothing is. */
  readonly faultOf?: ((path: string) => Promise<string | null>) | undefined;
  /** Where one that is wrong is kept for a person to look at. */
  readonly aside?: ((part: string, sha256: string) => Promise<void>) | undefined;
}

/** The bytes of one request, behind those that are there. Gives the hash of what came. */
async function append(place: UploadPlace, file: FileHandle, request: WriteRequest): Promise<string> {
  // Hashing takes the processor. What is small costs the main loop less than to ask; the rest is read again on a thread.
  const body = request.length > SMALL_BYTES ? undefined : createHash("sha256");
  let came = 0;
  for await (const chunk of request.bytes) {
    came += chunk.length;
    if (came > request.length) throw OperatingError.invalid("INVALID_REQUEST", "more bytes came than were announced");
    body?.update(chunk);
    await file.appendFile(chunk);
  }
  if (came !== request.length)
    throw OperatingError.invalid("ARTIFACT_CUT", "fewer bytes came than were announced", {
      status: 400,
      retryable: true,
    });
  return body?.digest("hex") ?? (await place.hasher.hashFrom(place.part, request.offset)).sha256;
}

async function finish(place: UploadPlace, sha256: string, file: FileHandle, whole: string | undefined): Promise<void> {
  await file.sync();
  const actual = whole ?? (await place.hasher.hash(place.part)).sha256;
  if (actual !== sha256) {
    await rm(place.part);
    throw OperatingError.conflict("ARTIFACT_HASH", `these bytes are not the artifact ${sha256}`, {
      status: 422,
      hint: "Nothing was kept. Send it again.",
      details: { actual },
    });
  }
  const fault = (await place.faultOf?.(place.part)) ?? null;
  if (fault !== null) {
    await (place.aside ?? ((part: string) => rm(part)))(place.part, sha256);
    throw OperatingError.conflict("ARTIFACT_STRUCTURE", `the artifact ${sha256} is not sound: ${fault}`, {
      status: 422,
      hint: "Its bytes are what was announced, and they are no file that anybody can read. Make it again.",
      details: { fault },
    });
  }
  await rename(place.part, place.path);
  await syncFolder(dirname(place.path));
}

/**
 * Takes the bytes of one request. They gather in a part; when the last one is there the hash is checked, the file flushed,
 * renamed, and its folder flushed. What comes in one go is hashed once, and only what was put together is read as a whole again.
 */
export async function receive(place: UploadPlace, request: WriteRequest): Promise<void> {
  const { sha256, offset, size, length } = request;
  await makeFolder(dirname(place.path));
  // A part that is begun anew is a file of its own: the old one may be somebody's by another name.
  if (offset === 0) await rm(place.part, { force: true });
  const there = (await factsOf(place.part))?.bytes ?? 0;
  if (offset > there)
    throw OperatingError.conflict("ARTIFACT_OFFSET", `${there} bytes are there, these begin at ${offset}`, {
      showsDetails: true,
      retryable: true,
      hint: "Continue from there.",
      details: { received: there },
    });
  const file = await open(place.part, "a", 0o600);
  try {
    await file.truncate(offset);
    const body = await append(place, file, request);
    request.accept(body);
    if (offset + length === size) await finish(place, sha256, file, offset === 0 ? body : undefined);
    else await file.datasync();
  } catch (thrown) {
    // What was cut off is worth keeping; what is refused must not spoil what was there.
    if (isOperatingError(thrown) && !thrown.retryable) await file.truncate(offset).catch(() => undefined);
    // An empty part helps nobody, and on a full disk it is one more thing that is in the way.
    if ((await file.stat()).size === 0) await rm(place.part, { force: true });
    throw thrown;
  } finally {
    await file.close();
  }
}

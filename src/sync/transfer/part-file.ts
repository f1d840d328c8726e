import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder, translateDiskFault } from "../../kernel/index.ts";
import { makeFolder } from "../disk.ts";
import type { Wanted } from "../transport.port.ts";
import { FLUSH_BYTES, WRITE_BYTES } from "./limits.ts";
import { createRunningHash, type RunningHash } from "./running-hash.ts";

/** Where the whole shall lie, and where its parts gather. */
export interface Landing {
  readonly path: string;
  readonly part: string;
  /** Where what turns out wrong is set aside; nowhere unless given. */
  readonly quarantine?: string | undefined;
}

/** The bytes of one artifact as they gather. What is in the file is hashed; what is whole and right gets its name. */
export interface PartFile {
  /** Bytes that are here. */
  readonly bytes: number;
  take(chunk: Uint8Array): Promise<void>;
  /** All that was taken is in the file. */
  written(): Promise<void>;
  /** Gives it its name if it is what the name says, after all of it is on the disk; false if it is not. */
  finish(): Promise<boolean>;
  digests(): string[];
  /** Of what is here. */
  sha256(): string;
  /** What somebody who has the whole says of its edges: from now on each chunk is judged as soon as it is there. */
  expect(digests: readonly string[]): void;
  /** Bytes from the beginning that are right and in the file; none while that cannot be told. */
  readonly sound: number;
  /** Chunks from the beginning that are right, where the next one is not; undefined if nothing is known to be wrong. */
  readonly rightChunks: number | undefined;
  /** Forgets everything behind this many chunks. */
  rewind(chunks: number): Promise<void>;
  /** Begins anew. What was here is kept under this name, if one is given. */
  restart(aside: string | undefined): Promise<void>;
  close(): Promise<void>;
}

const READ_BYTES = 1_024 ** 2;

/** What an earlier try left is worth as much as its bytes are: they are hashed like those that come. */
async function hashOfPart(file: FileHandle, { bytes }: Wanted, chunkBytes: number): Promise<RunningHash> {
  const hash = createRunningHash(chunkBytes);
  // Longer than the whole it belongs to something else.
  if ((await file.stat()).size > bytes) await file.truncate(0);
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES }))
    hash.update(chunk as Buffer);
  return hash;
}

async function writeAll(file: FileHandle, pieces: readonly Uint8Array[], at: number, bytes: number): Promise<void> {
  let { bytesWritten: done } = await file.writev(pieces as Uint8Array[], at);
  if (done === bytes) return;
  // On a disk that is nearly full a part of it is taken.
  const all = Buffer.concat(pieces);
  while (done < bytes) done += (await file.write(all, done, bytes - done, at + done)).bytesWritten;
}

const isMoved = (from: string, to: string): Promise<boolean> =>
  rename(from, to).then(
    () => true,
    () => false,
  );

/** `grown` is called when more of it is sound, or less. */
export async function openPart(
  landing: Landing,
  wanted: Wanted,
  chunkBytes: number,
  grown: () => void = () => {},
): Promise<PartFile> {
  const { path, part } = landing;
  let file: FileHandle;
  let hash: RunningHash;
  try {
    await makeFolder(dirname(path));
    file = await open(part, constants.O_RDWR | constants.O_CREAT, 0o600);
    hash = await hashOfPart(file, wanted, chunkBytes);
  } catch (thrown) {
    throw translateDiskFault(thrown);
  }
  let gathered: Uint8Array[] = [];
  let gatheredBytes = 0;
  let writing: Promise<void> = Promise.resolve();
  let flushing: Promise<void> = Promise.resolve();
  let unflushed = 0;
  let inFile = hash.bytes;
  let expected: readonly string[] | undefined;
  /** Chunks that were compared and are right. */
  let right = 0;
  let isWrong = false;
  let isWhole = false;

  /** Compares what is new with what it should be. */
  const judge = (): void => {
    while (expected !== undefined && !isWrong && right < hash.chunks)
      if (hash.edge(right + 1) === expected[right]) right += 1;
      else isWrong = true;
  };
  const soundBytes = (): number => (isWhole ? wanted.bytes : Math.min(right * chunkBytes, inFile));

  const writeOut = async (): Promise<void> => {
    await writing;
    const [pieces, bytes] = [gathered, gatheredBytes];
    if (bytes === 0) return;
    gathered = [];
    gatheredBytes = 0;
    const end = hash.bytes;
    writing = writeAll(file, pieces, end - bytes, bytes).then(() => {
      inFile = end;
      if (expected !== undefined) grown();
    });
    // Told to whoever waits for it next.
    writing.catch(() => undefined);
    unflushed += bytes;
    if (unflushed < FLUSH_BYTES) return;
    unflushed = 0;
    flushing = Promise.all([writing, flushing]).then(() => file.datasync());
    flushing.catch(() => undefined);
  };
  const onDisk = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (thrown) {
      throw translateDiskFault(thrown);
    }
  };
  const written = () =>
    onDisk(async () => {
      await writeOut();
      await writing;
    });

  const rewind = async (chunks: number): Promise<void> => {
    await written();
    hash.rewind(chunks);
    inFile = hash.bytes;
    right = Math.min(right, chunks);
    isWrong = false;
    grown();
    await onDisk(() => file.truncate(hash.bytes));
  };

  return {
    get bytes() {
      return hash.bytes;
    },
    async take(chunk) {
      hash.update(chunk);
      gathered.push(chunk);
      gatheredBytes += chunk.length;
      judge();
      // Who waits for it gets it chunk by chunk.
      if (gatheredBytes >= (expected === undefined ? WRITE_BYTES : chunkBytes)) await onDisk(writeOut);
    },
    written,
    async finish() {
      await written();
      if (hash.bytes !== wanted.bytes || hash.sha256() !== wanted.sha256) return false;
      isWhole = true;
      grown();
      await onDisk(async () => {
        await flushing;
        await file.sync();
        await rename(part, path);
        await syncFolder(dirname(path));
      });
      return true;
    },
    digests: () => hash.digests(),
    sha256: () => hash.sha256(),
    expect(digests) {
      // The last one is of all bytes, and not at an edge.
      expected = digests.slice(0, -1);
      judge();
      grown();
      // What waits to be written is wanted now; a disk that does not take it says so to the next one who writes.
      void writeOut().catch(() => undefined);
    },
    get sound() {
      return soundBytes();
    },
    get rightChunks() {
      return isWrong ? right : undefined;
    },
    rewind,
    async restart(aside) {
      await written();
      if (aside !== undefined && (await isMoved(part, aside))) {
        await Promise.allSettled([flushing]);
        const wrong = file;
        file = await onDisk(() => open(part, constants.O_RDWR | constants.O_CREAT, 0o600));
        await wrong.close();
      }
      await rewind(0);
    },
    async close() {
      // What has come need not come again; a disk that does not take it was told of before.
      await written().catch(() => undefined);
      await Promise.allSettled([writing, flushing]);
      await file.close();
      // An empty part helps nobody, and on a full disk it is one more thing that is in the way.
      if (hash.bytes === 0) await rm(part, { force: true });
    },
  };
}

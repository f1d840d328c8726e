import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { OperatingError, syncFolder, systemCode } from "../kernel/index.ts";

const SHA256 = /^[0-9a-f]{64}$/;
export const isSha256 = (text: string): boolean => SHA256.test(text);

export interface FileFacts {
  readonly bytes: number;
  readonly inode: number;
  /** When it was written, or last asked for: milliseconds since the epoch. */
  readonly touchedAt: number;
  /** Changes whenever the file does, in whatever way, and is another one for another file. */
  readonly stamp: string;
}

export async function factsOf(path: string): Promise<FileFacts | undefined> {
  try {
    const { size, ino, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const touchedAt = Number(mtimeNs / 1_000_000n) + Number(mtimeNs % 1_000_000n) / 1e6;
    return { bytes: Number(size), inode: Number(ino), touchedAt, stamp: [ino, size, mtimeNs, ctimeNs].join(" ") };
  } catch (thrown) {
    if (systemCode(thrown) !== "ENOENT") throw thrown;
    return undefined;
  }
}

/** A folder that is on disk itself: a file in it would be lost with its name. One at a time, since `recursive` hides why not. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === "EEXIST") return;
    if (code !== "ENOENT") throw thrown;
    await makeFolder(dirname(path));
    return makeFolder(path);
  }
  await syncFolder(dirname(path));
}

export const notAnArtifact = () => OperatingError.invalid("INVALID_REQUEST", "sha256: not a SHA-256 in lower-case hex");

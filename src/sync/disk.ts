import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { OperatingError } from "../kernel/index.ts";

const SHA256 = /^[0-9a-f]{64}$/;
export const isSha256 = (text: string): boolean => SHA256.test(text);

/** The code of an error of the file system. */
export const codeOf = (thrown: unknown): string | undefined => (thrown as { code?: string } | undefined)?.code;

export interface FileFacts {
  readonly bytes: number;
  readonly inode: number;
  /** When it was written, or last asked for: milliseconds since the epoch. */
  readonly touchedAt: number;
}

export async function factsOf(path: string): Promise<FileFacts | undefined> {
  try {
    const { size, ino, mtimeMs } = await stat(path);
    return { bytes: size, inode: ino, touchedAt: mtimeMs };
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") throw thrown;
    return undefined;
  }
}

/** A name that was given, changed or taken away is on disk after this. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A folder that is on disk itself: a file in it would be lost with its name. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

export const notAnArtifact = () => new OperatingError("INVALID_REQUEST", "sha256: not a SHA-256 in lower-case hex");

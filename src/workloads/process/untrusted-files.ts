/**
 * Files of programs that are not trusted. A path must lead, without a link out of it, to a plain file inside the given
 * folder; what was checked is held open, so that what is hashed is what was checked.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, sep } from "node:path";
import { type FileHasher, messageOf, systemCode } from "../../kernel/index.ts";
import { type Checked, type Fault, fault, refused, type VerifiedArtifact } from "./outcome.ts";
import type { ArtifactMessage, JobInput } from "./protocol.ts";

const isInside = (folder: string, path: string): boolean =>
  path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/** Why a relative path is refused before anybody looks at the disk. */
export function lexicalFault(path: string): string | undefined {
  if (isAbsolute(path) || /^[A-Za-z]:/.test(path)) return "it is absolute";
  if (path.includes("\0")) return "it holds a NUL";
  if (path.includes("\\")) return "it holds a backslash; folders are divided by /";
  const parts = path.split("/");
  if (parts.includes("..")) return "it holds ..";
  if (parts.some((part) => part === "" || part === ".")) return "it holds an empty step";
  return undefined;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
  /** Where it really lies. */
  readonly file: string;
}

/** Where an open file lies: asked of the descriptor where the system tells, so that no later rename can deceive. */
async function placeOf(handle: FileHandle, path: string): Promise<string> {
  if (process.platform === "linux") return readlink(`/proc/self/fd/${handle.fd}`);
  return realpath(path);
}

/** Opens a plain file inside one of the folders; never follows a last link, never waits for a pipe. */
async function openInside(path: string, folders: readonly string[]): Promise<Checked<OpenFile>> {
  const outside = (why: string) => refused("protocol", "path_outside", `"${path}" leads outside of its folder: ${why}`);
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    if (systemCode(thrown) === "ELOOP") return outside("it is a symbolic link");
    if (systemCode(thrown) === "ENOENT") return refused("protocol", "file_missing", `there is no file "${path}"`);
    if (systemCode(thrown) === "ENXIO") return refused("protocol", "special_file", `"${path}" is not a plain file`);
    return refused("protocol", "file_unreadable", `"${path}" cannot be read: ${messageOf(thrown)}`);
  }
  try {
    const stats = await handle.stat();
    const file = await placeOf(handle, path);
    const real = await Promise.all(folders.map((folder) => realpath(folder)));
    const wrong = !stats.isFile()
      ? refused("protocol", "special_file", `"${path}" is not a plain file`)
      : !real.some((folder) => isInside(folder, file))
        ? outside(`it is ${file}`)
        : undefined;
    if (wrong === undefined) return { ok: true, value: { handle, stats, file } };
    await handle.close();
    return wrong;
  } catch (thrown) {
    await handle.close();
    return refused("retryable", "file_unreadable", `"${path}" cannot be read: ${messageOf(thrown)}`);
  }
}

export interface ArtifactBounds {
  readonly outputFolder: string;
  readonly artifactBytes: number;
  /** What the artifacts of the job may still take. */
  readonly bytesLeft: number;
}

/** Believes an announced file once its place, its size and its hash are what the program said. */
export async function verifyArtifact(
  { type: _, job_id, ...said }: ArtifactMessage,
  bounds: ArtifactBounds,
  hasher: FileHasher,
): Promise<Checked<VerifiedArtifact>> {
  const { path, bytes, sha256 } = said;
  const wrong = lexicalFault(path);
  if (wrong !== undefined)
    return refused("protocol", "path_outside", `"${path}" is not a path inside the output folder: ${wrong}`);
  const opened = await openInside(join(bounds.outputFolder, path), [bounds.outputFolder]);
  if (!opened.ok) return opened;
  const { handle, stats, file } = opened.value;
  try {
    if (stats.size !== bytes)
      return refused("protocol", "wrong_size", `"${path}" has ${stats.size} bytes; the program said ${bytes}`);
    if (stats.size > bounds.artifactBytes)
      return refused(
        "resource",
        "artifact_too_large",
        `"${path}" has ${stats.size} bytes; ${bounds.artifactBytes} are allowed`,
      );
    if (stats.size > bounds.bytesLeft)
      return refused("resource", "output_too_large", `with "${path}" the job has written more than it may`);
    const { sha256: found } = await hasher.hash(handle);
    if (found !== sha256)
      return refused("protocol", "wrong_hash", `"${path}" has SHA-256 ${found}; the program said ${sha256}`);
    return { ok: true, value: { ...said, file } };
  } catch (thrown) {
    return refused("retryable", "file_unreadable", `"${path}" cannot be read: ${messageOf(thrown)}`);
  } finally {
    await handle.close();
  }
}

/** What was hashed before and has not been touched since is not hashed again: a model serves many jobs. */
export type InputMemory = Map<string, string>;
const MAX_REMEMBERED = 1_000;

/** Checks that the inputs of a job are there, inside the folders that programs may read, and the right ones. */
export async function checkInputs(
  inputs: readonly JobInput[],
  folders: readonly string[],
  hasher: FileHasher,
  memory: InputMemory,
): Promise<Fault | undefined> {
  for (const { name, path, sha256 } of inputs) {
    const refuse = (code: string, reason: string, errorClass: Fault["class"]): Fault =>
      fault(errorClass, code, `input "${name}": ${reason}`);
    if (!isAbsolute(path)) return refuse("path_outside", `"${path}" is not absolute`, "bad_input");
    const opened = await openInside(path, folders);
    if (!opened.ok) {
      // A file that is not here may be fetched; one that lies elsewhere or is no file never becomes right.
      const missing = opened.fault.code === "file_missing" || opened.fault.code === "file_unreadable";
      return refuse(`input_${opened.fault.code}`, opened.fault.reason, missing ? "retryable" : "bad_input");
    }
    const { handle, stats, file } = opened.value;
    try {
      const key = [file, stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(" ");
      const found = memory.get(key) ?? (await hasher.hash(handle)).sha256;
      if (memory.size >= MAX_REMEMBERED) memory.clear();
      memory.set(key, found);
      if (found !== sha256)
        return refuse("input_wrong_hash", `"${path}" has SHA-256 ${found}, not ${sha256}; fetch it again`, "retryable");
    } catch (thrown) {
      return refuse("input_file_unreadable", messageOf(thrown), "retryable");
    } finally {
      await handle.close();
    }
  }
  return undefined;
}

/** Files on disk: written once and whole, read only up to a limit. */
import { chmod, link, open, readFile, rm, stat } from "node:fs/promises";
import { type EncodedFile, hashOf, MOST_FILE_BYTES } from "./container.ts";
import { fileFault } from "./errors.ts";

const codeOf = (thrown: unknown): string | undefined => (thrown as NodeJS.ErrnoException).code;

/**
 * Writes a file that did not exist before: to a neighbour first, flushed, then linked into place, so that nobody ever
 * sees half of it. Writing the same bytes again is fine; other bytes under the same name are refused.
 */
export async function writeOnce(path: string, file: EncodedFile): Promise<void> {
  const neighbour = `${path}.${process.pid}.part`;
  await rm(neighbour, { force: true });
  const handle = await open(neighbour, "wx");
  try {
    await handle.writeFile(file.bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await chmod(neighbour, 0o444);
    await link(neighbour, path);
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
    const present = hashOf(await readFile(path));
    if (present !== file.hash)
      throw fileFault(
        "ARENA_FILE_EXISTS",
        `${path} exists with other content (SHA-256 ${present.slice(0, 12)}...).`,
        thrown,
      );
  } finally {
    await rm(neighbour, { force: true });
  }
}

/** The bytes of a file that is not too large. */
export async function readWithin(path: string, mostBytes = MOST_FILE_BYTES): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > mostBytes)
      throw fileFault("ARENA_FILE_TOO_LARGE", `${path} has ${size} bytes; at most ${mostBytes} are read.`);
    return await readFile(path);
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") throw fileFault("ARENA_FILE_NOT_FOUND", `There is no file ${path}.`, thrown);
    throw thrown;
  }
}

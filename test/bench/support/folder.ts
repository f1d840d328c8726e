import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SHARED_MEMORY = "/dev/shm";

/** Where writes cost no disk, if there is such a place: for what stands for many machines, each with a disk of its own. */
export function inMemory(): string {
  try {
    accessSync(SHARED_MEMORY, constants.W_OK);
    return SHARED_MEMORY;
  } catch {
    return tmpdir();
  }
}

/** A folder of its own for the time of `use`. */
export async function inFolder<T>(use: (folder: string) => Promise<T>, place = tmpdir()): Promise<T> {
  const folder = mkdtempSync(join(place, "ringrift-bench-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

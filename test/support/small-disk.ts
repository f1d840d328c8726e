/** A disk of a test's own that can be filled, freed and made read-only. Only root may mount one; elsewhere that is said aloud. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  readonly folder: string;
  /** Takes all the room that is left, but for so many bytes. */
  fill(leaveBytes?: number): void;
  /** Gives it back. */
  free(): void;
  remount(how: "ro" | "rw"): void;
}

/** Undefined where no disk can be mounted; in CI that is a failure. `atEnd` is `onTestFinished`, or collects what a soak undoes. */
export function smallDisk(megabytes: number, atEnd: (undo: () => void) => void): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "pipe" });
  } catch (thrown) {
    rmSync(folder, { recursive: true });
    if (process.env.CI === "true") throw thrown;
    console.warn("SKIPPED: a small disk cannot be mounted here, so a full one was not tried");
    return undefined;
  }
  atEnd(() => {
    execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  });
  const filler = join(folder, "filler");
  const free = () => rmSync(filler, { force: true });
  return {
    folder,
    free,
    fill(leaveBytes = 0) {
      const spare = join(folder, "spare");
      if (leaveBytes > 0) appendFileSync(spare, Buffer.alloc(leaveBytes));
      for (let bytes = 1 << 20; bytes >= 4_096; )
        try {
          appendFileSync(filler, Buffer.alloc(bytes));
        } catch {
          bytes >>= 1;
        }
      rmSync(spare, { force: true });
    },
    remount: (how) => void execFileSync("mount", ["-o", `remount,${how}`, folder], { stdio: "pipe" }),
  };
}

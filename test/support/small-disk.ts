/**
 * A disk of a test's own that can be filled, freed and made read-only, or that forgets what was not flushed. Only root may mount one;
 * elsewhere that is said aloud.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
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

/** On a device of its own. */
export interface DeviceDisk extends SmallDisk {
  /** The power is cut and comes back: whatever was not flushed is gone. Nobody may have files open there. */
  losePower(): void;
}

/** `onTestFinished`, or collects what a soak undoes. */
type AtEnd = (undo: () => void) => void;

const run = (program: string, ...args: readonly string[]) => void execFileSync(program, args, { stdio: "pipe" });

/** Undefined where no disk can be mounted; in CI that is a failure. */
export const smallDisk = (megabytes: number, atEnd: AtEnd): SmallDisk | undefined =>
  mounted((folder) => run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder), atEnd);

/** The call that stops a file system at once, without a last flush, and its kind that writes no journal either. */
const STOP_NOW = "import fcntl, os, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, b'\\2\\0\\0\\0')";

/** The same as a file system on a device. */
export function deviceDisk(megabytes: number, atEnd: AtEnd): DeviceDisk | undefined {
  const image = (folder: string) => `${folder}.image`;
  const mount = (folder: string) => run("mount", "-o", "loop", image(folder), folder);
  const make = (folder: string) => {
    writeFileSync(image(folder), "");
    truncateSync(image(folder), megabytes * 2 ** 20);
    run("mkfs.ext4", "-q", "-m", "0", image(folder));
    // Programs on hosts of their own have a copy of every mount. On top of one that is shared theirs goes when ours does: the device is free.
    run("mount", "--bind", folder, folder);
    run("mount", "--make-shared", folder);
    mount(folder);
  };
  const disk = mounted(make, atEnd, (folder) => {
    run("umount", "-l", folder);
    rmSync(image(folder));
  });
  return (
    disk && {
      ...disk,
      losePower() {
        run("python3", "-c", STOP_NOW, disk.folder);
        run("umount", disk.folder);
        mount(disk.folder);
      },
    }
  );
}

/** Files are in the folder that is mounted last; `after` undoes what came before it. */
function mounted(
  mount: (folder: string) => void,
  atEnd: AtEnd,
  after: (folder: string) => void = () => {},
): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-disk-"));
  try {
    mount(folder);
  } catch (thrown) {
    rmSync(folder, { recursive: true });
    if (process.env.CI === "true") throw thrown;
    console.warn("SKIPPED: a small disk cannot be mounted here, so a full one was not tried");
    return undefined;
  }
  atEnd(() => {
    run("umount", "-l", folder);
    after(folder);
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
    remount: (how) => run("mount", "-o", `remount,${how}`, folder),
  };
}

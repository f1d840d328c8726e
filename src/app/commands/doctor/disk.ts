/** The disk under the data folder: room, kind, and how long a flush takes. */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { bytes, duration } from "../../../surfaces/commands/index.ts";
import { type Check, type Finding, fail, ok, type Patient, warn } from "./finding.ts";

const LEAST_FREE = { fail: 200e6, warn: 1e9 };
const LEAST_SHARE = { fail: 0.005, warn: 0.03 };
const FLUSHES = 20;
const SLOW_FLUSH_MS = 20;
/** The clock of the disk may be so far from ours: file times are often whole seconds or ticks. */
const MTIME_SLACK_MS = 2_500;

/** Kinds of file systems that behave otherwise, by the number that the system gives them. */
const KINDS: Readonly<Record<number, readonly [name: string, hint: string]>> = {
  26985: ["NFS", "Locks and flushes over a network are slow and not to be trusted: use a local disk."],
  4283649346: ["CIFS", "Locks and flushes over a network are slow and not to be trusted: use a local disk."],
  20859: ["SMB", "Locks and flushes over a network are slow and not to be trusted: use a local disk."],
  16914836: ["tmpfs", "It is gone after a restart of the machine: use a disk."],
};

export const checkSpace: Check = ({ place }) => {
  const { bavail, blocks, bsize, type, ffree, files } = statfsSync(place);
  const free = bavail * bsize;
  const share = blocks === 0 ? 1 : bavail / blocks;
  const text = `${bytes(free)} free of ${bytes(blocks * bsize)}`;
  const hint = "Free some space, or move the data folder: without any, publishing is refused.";
  const found: Finding[] = [];
  if (free < LEAST_FREE.fail || share < LEAST_SHARE.fail) found.push(fail("disk space", text, hint));
  else if (free < LEAST_FREE.warn || share < LEAST_SHARE.warn) found.push(warn("disk space", text, hint));
  else found.push(ok("disk space", text));
  if (files > 0 && ffree / files < 0.01)
    found.push(warn("disk space", `${ffree} of ${files} inodes are free`, "Delete files that you do not need."));
  const kind = KINDS[type];
  if (kind !== undefined) found.push(warn("disk kind", `${place} is on ${kind[0]}`, kind[1]));
  return found;
};

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Writes a small file beside the journal, flushes it some times, and takes it away again. */
function tryDisk({ place, clock }: Patient): { readonly flushMs: number; readonly mtimeOffMs: number } {
  const path = join(place, `.ringrift-doctor-${process.pid}`);
  const file = openSync(path, "wx", 0o600);
  try {
    const block = Buffer.alloc(4_096);
    const took = Array.from({ length: FLUSHES }, () => {
      const began = clock.monotonic();
      writeSync(file, block);
      fsyncSync(file);
      return clock.monotonic() - began;
    });
    return { flushMs: medianOf(took), mtimeOffMs: statSync(path).mtimeMs - clock.now() };
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

export const checkDisk: Check = (patient) => {
  let tried: ReturnType<typeof tryDisk>;
  try {
    tried = tryDisk(patient);
  } catch (thrown) {
    const { code = "", message } = thrown as NodeJS.ErrnoException;
    return fail(
      "disk",
      `nothing can be written in ${patient.place}: ${code || message}`,
      "Make it writable, or free space.",
    );
  }
  const text = `a flush takes ${tried.flushMs < 10 ? `${tried.flushMs.toFixed(2)} ms` : duration(tried.flushMs)} (median of ${FLUSHES})`;
  return [
    tried.flushMs < SLOW_FLUSH_MS
      ? ok("disk speed", text)
      : warn("disk speed", text, "Every commit waits for one: a faster disk makes publishing faster."),
    Math.abs(tried.mtimeOffMs) <= MTIME_SLACK_MS
      ? ok("disk clock", "file times agree with the clock")
      : warn(
          "disk clock",
          `file times are ${duration(Math.abs(tried.mtimeOffMs))} ${tried.mtimeOffMs > 0 ? "ahead of" : "behind"} the clock`,
          "Set the clocks of this machine and of its file server by NTP.",
        ),
  ];
};

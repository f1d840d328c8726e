/**
 * An hour of training: the data folder grows until champions, window and grace are full, and then stays as large as it is. A
 * short grace shows the same within minutes.
 */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { assert, sumOf } from "../../src/kernel/index.ts";
import { owned } from "../support/process.ts";

export interface DiskOptions {
  readonly seconds?: number;
  readonly graceSeconds?: number;
  /** Numbers without a verdict. */
  readonly only_measure?: boolean;
}
export const tiny: DiskOptions = { seconds: 6, graceSeconds: 60, only_measure: true };

const LOOKS = 40;
/** By how much the last quarter may be larger than the one before the middle. */
const MAX_GROWTH = 1.25;

/** What lies in a folder. Files and folders that go while it is looked at count for nothing. */
function bytesIn(folder: string): number {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw thrown;
  }
  return sumOf(entries, (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return bytesIn(path);
    return entry.isFile() ? (statSync(path, { throwIfNoEntry: false })?.size ?? 0) : 0;
  });
}

export async function run({ seconds = 3_600, graceSeconds = 600, only_measure = false }: DiskOptions = {}) {
  await using own = owned();
  const folder = own.folder();
  // What the worker keeps beside its jobs is the larger half: both have the same time.
  const env = { RINGRIFT_ARTIFACT_GRACE: String(graceSeconds), RINGRIFT_WORKER_INPUTS_IDLE: String(graceSeconds) };
  const flags = ["--headless", "--no-report", "--port", "0", "--for", `${seconds}s`];
  const main = own.startCli(["train", "connect4_7x6_2p", ...flags], { cwd: folder, env });
  let isOver = false;
  const exited = main.exited.finally(() => {
    isOver = true;
  });
  await main.waitForLine(/ready|iteration|champion/);
  const megabytes: number[] = [];
  while (!isOver) {
    megabytes.push(Math.round(bytesIn(folder) / 1e6));
    await Promise.race([exited, wait((seconds * 1_000) / LOOKS, undefined, { ref: false })]);
  }
  const { code } = await exited;
  assert(code === 0, `it ended with ${code}: ${main.lines.slice(-20).join("\n")}`);
  const largest = (from: number, to: number) =>
    Math.max(...megabytes.slice(Math.floor(megabytes.length * from), Math.ceil(megabytes.length * to)));
  const [before, after] = [largest(0.25, 0.5), largest(0.75, 1)];
  const rounds = main.lines.filter((line) => /promoted|rejected/.test(line)).length;
  assert(only_measure || after <= before * MAX_GROWTH, `the disk goes on filling: ${megabytes.join(", ")} MB`);
  return { seconds, grace_seconds: graceSeconds, rounds, before_mb: before, after_mb: after, megabytes };
}

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { smallDisk } from "../../test/support/small-disk.ts";
import { systemClock } from "./clock.ts";
import { createLog } from "./log.ts";
import { logFilesOf, logPathOf, openLogFile, readLogLines } from "./log-files.ts";

const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-logs-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
};
const opened = (path: string, maxBytes = 1_000_000, files = 3) => {
  const file = openLogFile({ path, maxBytes, files });
  onTestFinished(() => file.close());
  return file;
};
const all = async (path: string): Promise<string[]> => {
  const lines: string[] = [];
  for await (const line of readLogLines({ path })) lines.push(line);
  return lines;
};
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line ${from + i}`);

describe("the log file", () => {
  test("has the lines of the log, for its owner only", async () => {
    const path = logPathOf(folder());
    const log = createLog("INFO", { stream: { write() {} }, file: opened(path) });
    log.child({ unit: "dlq_retry" }).warn("dead letters wait", { pending: 50 });
    log.debug("unseen");
    const lines = await all(path);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, msg: "dead letters wait", unit: "dlq_retry", pending: 50, time: expect.stringMatching(/^\d{4}-/) },
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });

  test("goes on where an earlier process ended", async () => {
    const path = logPathOf(folder());
    opened(path).write("a\n");
    opened(path).write("b\n");
    expect(await all(path)).toEqual(["a", "b"]);
  });

  test("is rotated by size, and the oldest go beyond the count", async () => {
    const path = logPathOf(folder());
    const file = opened(path, 100, 3);
    for (const line of numbered(0, 100)) file.write(`${line}\n`);
    expect(logFilesOf(path).map(({ age }) => age)).toEqual([2, 1, 0]);
    for (const each of logFilesOf(path)) expect(statSync(each.path).size).toBeLessThan(120);
    const lines = await all(path);
    expect(lines).toEqual(numbered(100 - lines.length, 100));
    expect(lines.length).toBeGreaterThan(20);
  });

  test("is tidied when others wrote into it, and when fewer files are to be kept", () => {
    const path = logPathOf(folder());
    const file = opened(path, 100, 2);
    file.write("mine\n");
    expect(file.tidy()).toBe(false);
    writeFileSync(path, "x".repeat(200), { flag: "a" });
    for (const age of [1, 5, 7]) writeFileSync(`${path}.${age}`, "old\n");
    expect(file.tidy()).toBe(true);
    expect(logFilesOf(path).map(({ age }) => age)).toEqual([1]);
    file.write("new\n");
    expect(readFileSync(path, "utf8")).toBe("new\n");
  });

  test("never throws: what it cannot write is counted, and told when it can again", async () => {
    const root = folder();
    const path = logPathOf(root);
    // A file stands where the folder should be.
    writeFileSync(join(root, "logs"), "in the way");
    const file = opened(path);
    file.write("lost 1\n");
    file.write("lost 2\n");
    expect(file.lost).toBe(2);
    expect(file.tidy()).toBe(false);
    rmSync(join(root, "logs"));
    file.write("kept\n");
    expect(await all(path)).toEqual([expect.stringContaining('"lost":2'), "kept"]);
  });

  test("survives a full disk, and goes on when there is space", async () => {
    const disk = smallDisk(1, onTestFinished);
    if (disk === undefined) return;
    const path = logPathOf(disk.folder);
    const file = opened(path, 10_000_000);
    const line = `${JSON.stringify({ msg: "x".repeat(1_000) })}\n`;
    for (let i = 0; i < 2_000; i += 1) file.write(line);
    expect(file.lost).toBeGreaterThan(500);
    // Somebody frees the disk by removing the log itself: at its next tidying it is begun anew.
    const lost = file.lost;
    rmSync(path);
    file.tidy();
    file.write("after\n");
    expect(file.lost).toBe(lost);
    const lines = await all(path);
    expect(lines.at(-1)).toBe("after");
    expect(lines.some((each) => each.includes('"lost":'))).toBe(true);
  });
});

describe("the reader", () => {
  test("finds nothing where nothing was logged", async () => {
    expect(await all(logPathOf(folder()))).toEqual([]);
  });

  test("gives a last line that has no end, and cuts one that is too long", async () => {
    const path = join(folder(), "x.log");
    writeFileSync(path, `a\n${"y".repeat(1_200_000)}\nb`);
    const lines = await all(path);
    expect(lines[0]).toBe("a");
    expect(lines.at(-1)).toBe("b");
    expect(lines.slice(1, -1).join("")).toBe("y".repeat(1_200_000));
  });

  test("follows over rotations, with every line once and in order, as long as nothing it has not read is removed", async () => {
    const path = logPathOf(folder());
    const file = opened(path, 200, 50);
    for (const line of numbered(0, 30)) file.write(`${line}\n`);
    const ending = new AbortController();
    const seen: string[] = [];
    let written = 30;
    /** Written while it is read, many files on. */
    const writeTwo = () => {
      for (const end = Math.min(400, written + 2); written < end; written += 1) file.write(`line ${written}\n`);
    };
    const follow = { clock: systemClock(), signal: ending.signal, everyMs: 1 };
    for await (const line of readLogLines({ path, follow })) {
      seen.push(line);
      writeTwo();
      if (seen.length === 400) ending.abort();
    }
    expect(seen).toEqual(numbered(0, 400));
    expect(logFilesOf(path).length).toBeGreaterThan(10);
  });
});

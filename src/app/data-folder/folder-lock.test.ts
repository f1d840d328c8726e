import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { guardDataDir } from "./folder-lock.ts";

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-guard-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
};

test("a second start on one folder is refused until the first has ended", () => {
  const dataDir = folder();
  const first = guardDataDir(dataDir);
  expect(() => guardDataDir(dataDir)).toThrow(expect.objectContaining({ code: "ALREADY_RUNNING" }));
  first.release();
  guardDataDir(dataDir).release();
});

const BY_ANOTHER_PROCESS = `
  import { DatabaseSync } from "node:sqlite";
  try {
    new DatabaseSync(process.argv[1]).exec("BEGIN EXCLUSIVE");
    console.log("taken");
  } catch (thrown) {
    console.log(thrown.errcode);
  }
`;
const SQLITE_BUSY = "5";

test("a second start that is refused within the process leaves the lock to the first, also for other processes", () => {
  const dataDir = folder();
  const first = guardDataDir(dataDir);
  expect(() => guardDataDir(dataDir)).toThrow(expect.objectContaining({ code: "ALREADY_RUNNING" }));
  const args = ["--input-type=module", "--eval", BY_ANOTHER_PROCESS, join(dataDir, "main.lock")];
  expect(execFileSync(process.execPath, args, { encoding: "utf8" }).trim()).toBe(SQLITE_BUSY);
  first.release();
});

const HOLDS = `
  import { DatabaseSync } from "node:sqlite";
  const lock = new DatabaseSync(process.argv[1]);
  lock.exec("BEGIN EXCLUSIVE");
  process.stdin.on("end", () => lock.close()).resume();
  console.log("taken");
`;

test.runIf(process.platform === "linux")(
  "a first process that has not told its address yet is named all the same, and no other in its place",
  async () => {
    const dataDir = folder();
    const stale = { pid: process.pid, socket_path: "gone", port: 1, node_id: "n", version: "0", started_at: 0 };
    const args = ["--input-type=module", "--eval", HOLDS, join(dataDir, "main.lock")];
    const first = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    await once(first.stdout, "data");
    writeFileSync(join(dataDir, "endpoint.json"), JSON.stringify(stale));
    expect(() => guardDataDir(dataDir)).toThrow(`is in use by process ${first.pid}, which is still starting`);
    first.stdin.end();
    await once(first, "exit");
    guardDataDir(dataDir).release();
    expect(existsSync(join(dataDir, "endpoint.json"))).toBe(false);
  },
);

test("a lock file that cannot be opened or read is not mistaken for another process", () => {
  const broken = folder();
  writeFileSync(join(broken, "main.lock"), "this is no database, whoever wrote it here\n".repeat(100));
  expect(() => guardDataDir(broken)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  const blocked = folder();
  mkdirSync(join(blocked, "main.lock"));
  expect(() => guardDataDir(blocked)).toThrow(expect.objectContaining({ code: "STORE_CANNOT_OPEN" }));
});

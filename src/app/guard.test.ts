import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { guardDataDir } from "./guard.ts";

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

test("a lock file that cannot be opened or read is not mistaken for another process", () => {
  const broken = folder();
  writeFileSync(join(broken, "main.lock"), "this is no database, whoever wrote it here\n".repeat(100));
  expect(() => guardDataDir(broken)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  const blocked = folder();
  mkdirSync(join(blocked, "main.lock"));
  expect(() => guardDataDir(blocked)).toThrow(expect.objectContaining({ code: "STORE_CANNOT_OPEN" }));
});

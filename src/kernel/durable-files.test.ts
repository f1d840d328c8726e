import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolders } from "./durable-files.ts";

const scratch = () => {
  const folder = mkdtempSync(join(tmpdir(), "folders-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

test("a folder is made with those above it, for its owner alone, and twice is once", () => {
  const path = join(scratch(), "a", "b", "c");
  makeFolders(path);
  makeFolders(path);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

test("a file in the way is an error", () => {
  const path = join(scratch(), "file");
  writeFileSync(path, "");
  expect(() => makeFolders(path)).toThrow("EEXIST");
  expect(() => makeFolders(join(path, "below"))).toThrow("ENOTDIR");
});

test.runIf(existsSync("/proc"))("a place where nothing can be made is an error, and not a wait without end", () => {
  expect(() => makeFolders("/proc/there/is/none")).toThrow("ENOENT");
});

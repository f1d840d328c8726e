import fs, {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readToken } from "./token.ts";

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-token-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
};

test("the token is made once, kept, and readable by its owner alone", () => {
  const dataDir = folder();
  const token = readToken(dataDir);
  expect(token).toMatch(/^[\w-]{43}$/);
  writeFileSync(join(dataDir, "token"), `${token}\n`, { mode: 0o644 });
  expect(readToken(dataDir)).toBe(token);
  expect(statSync(join(dataDir, "token")).mode & 0o777).toBe(0o600);
});

test("an empty token file, left by a start that was cut off, lets nobody in", () => {
  const dataDir = folder();
  writeFileSync(join(dataDir, "token"), "\n");
  const token = readToken(dataDir);
  expect(token).toHaveLength(43);
  expect(readFileSync(join(dataDir, "token"), "utf8").trim()).toBe(token);
});

test("a token is not written to where a link points", () => {
  const dataDir = folder();
  symlinkSync(join(dataDir, "elsewhere"), join(dataDir, "token"));
  readToken(dataDir);
  expect(existsSync(join(dataDir, "elsewhere"))).toBe(false);
  expect(lstatSync(join(dataDir, "token")).isFile()).toBe(true);
});

test("a token that was made is on the disk, and so is its name in the folder", () => {
  const dataDir = folder();
  const flushed: string[] = [];
  const { fsyncSync } = fs;
  fs.fsyncSync = (file) => {
    flushed.push(fs.fstatSync(file).isDirectory() ? "folder" : "file");
    fsyncSync(file);
  };
  syncBuiltinESMExports();
  try {
    readToken(dataDir);
  } finally {
    fs.fsyncSync = fsyncSync;
    syncBuiltinESMExports();
  }
  expect(flushed).toEqual(["file", "folder"]);
});

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "../../kernel/index.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import { readSettings } from "../settings.ts";
import { lostJournal } from "./lost-journal.ts";

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-lost-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
};
const sha256 = "ab".repeat(32);
const withArtifact = (dataDir: string) => {
  mkdirSync(join(dataDir, "artifacts", "ab"), { recursive: true });
  writeFileSync(join(dataDir, "artifacts", "ab", sha256), "a model");
};

test("a journal that is gone or empty beside its artifacts is refused with the way back, and nothing is begun anew", async () => {
  const dataDir = folder();
  withArtifact(dataDir);
  const start = () =>
    bootstrapCoordination({ settings: readSettings({}, dataDir, { dataDir, port: 0 }), log: silentLog() });
  const refusal = { code: "STORE_LOST", kind: "conflict", hint: expect.stringContaining("from a backup") };
  await expect(start()).rejects.toMatchObject(refusal);
  expect(existsSync(join(dataDir, "coordination.db"))).toBe(false);
  writeFileSync(join(dataDir, "coordination.db"), "");
  await expect(start()).rejects.toMatchObject(refusal);
  expect(readFileSync(join(dataDir, "coordination.db"), "utf8")).toBe("");
});

test("a write-ahead log without its journal is kept: it may be all that is left", () => {
  const dataDir = folder();
  writeFileSync(join(dataDir, "coordination.db-wal"), "frames");
  expect(lostJournal(dataDir)).toMatchObject({ code: "STORE_LOST", message: expect.stringContaining("-wal") });
});

test("a first start that was cut off, and a folder of artifacts that is empty, are no loss", () => {
  const dataDir = folder();
  expect(lostJournal(dataDir)).toBeUndefined();
  writeFileSync(join(dataDir, "coordination.db"), "");
  mkdirSync(join(dataDir, "artifacts", "ab"), { recursive: true });
  expect(lostJournal(dataDir)).toBeUndefined();
  withArtifact(dataDir);
  writeFileSync(join(dataDir, "coordination.db"), "SQLite format 3");
  expect(lostJournal(dataDir)).toBeUndefined();
});

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findEndpoint } from "./endpoint.ts";

const NOBODY = 65_534;

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "ringrift-endpoint-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test("nothing runs where no process has left its address, or only half of one", () => {
  const dataDir = folder();
  expect(findEndpoint(join(dataDir, "none"))).toBeUndefined();
  expect(findEndpoint(dataDir)).toBeUndefined();
  writeFileSync(join(dataDir, "endpoint.json"), '{"pid": 1');
  expect(findEndpoint(dataDir)).toBeUndefined();
});

test("a folder that may not be looked into is said to be so, and not to be one on which nothing runs", () => {
  const dataDir = folder();
  chmodSync(dataDir, 0o000);
  const script = `
    const { findEndpoint } = await import(${JSON.stringify(new URL("./endpoint.ts", import.meta.url).href)});
    try { findEndpoint(${JSON.stringify(dataDir)}); } catch (thrown) { console.log(thrown.code, thrown.hint); }`;
  // Root may look into everything.
  const asWhom = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    ...asWhom,
    cwd: "/",
    encoding: "utf8",
  });
  if (stderr.includes("EACCES") && stdout === "")
    return console.warn("SKIPPED: nobody may not read this checkout, so that a closed folder was not tried");
  expect(stdout).toMatch(/^STORE_CANNOT_OPEN Check that it is a folder, that it belongs to you/);
});

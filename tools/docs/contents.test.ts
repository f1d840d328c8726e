import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../parts/root.ts";
import { missingFromMap } from "./map.ts";

test("docs/README.md names every page and everything that is printed", () => {
  expect(missingFromMap(join(ROOT, "docs"))).toEqual([]);
});

test("a page that the map does not name is found", () => {
  const docs = mkdtempSync(join(tmpdir(), "ringrift-docs-"));
  onTestFinished(() => rmSync(docs, { recursive: true }));
  mkdirSync(join(docs, "reference"));
  for (const file of ["10-known.md", "11-lost.md", "reference/cli.md", "reference/lost.json"])
    writeFileSync(join(docs, file), "");
  writeFileSync(join(docs, "README.md"), "[known](10-known.md) [commands](reference/cli.md#ringrift-up) 11-lost.md");
  expect(missingFromMap(docs)).toEqual(["11-lost.md", "reference/lost.json"]);
});

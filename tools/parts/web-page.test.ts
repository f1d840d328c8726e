import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Rolldown } from "vite";
import { expect, test } from "vitest";
import { ROOT } from "./root.ts";
import { keepToBudget } from "./web-page.ts";

/** A part of a build that nobody can make smaller. */
const chunk = (name: string, kilobytes: number, more: Partial<Rolldown.OutputChunk> = {}) =>
  ({
    fileName: `${name}.js`,
    facadeModuleId: join(ROOT, "web", "pages", `${name}.tsx`),
    // Two characters a byte, of which gzip makes one again, and a little.
    code: randomBytes(kilobytes * 1_000).toString("hex"),
    imports: [],
    isEntry: false,
    isDynamicEntry: false,
    ...more,
  }) as unknown as Rolldown.OutputChunk;
const entry = (kilobytes: number, imports: string[] = []) => chunk("main", kilobytes, { isEntry: true, imports });
const page = (name: string, kilobytes: number, imports: string[] = []) =>
  chunk(name, kilobytes, { isDynamicEntry: true, imports });

test("a page within its budget is told with its size", () => {
  expect(keepToBudget([entry(40), page("home", 12), page("play", 16)])).toMatch(
    /^page: first load 4\d\.\d kB, 2 pages of at most 1\d\.\d kB more$/,
  );
});

test("a first load beyond 60 kB is refused, with all that it imports", () => {
  expect(() => keepToBudget([entry(40, ["shared.js"]), chunk("shared", 20)])).toThrow(
    /the page is larger than it may be: the first load takes 6\d{4} of 60000 bytes/,
  );
});

test("a page beyond 20 kB more is refused by its name; what came with the first load counts for nothing", () => {
  const shared = chunk("shared", 12);
  expect(() => keepToBudget([entry(10), page("games", 10, ["shared.js"]), shared])).toThrow(
    /web\/pages\/games\.tsx takes 2\d{4} of 20000 bytes/,
  );
  expect(keepToBudget([entry(10, ["shared.js"]), page("games", 10, ["shared.js"]), shared])).toContain("1 pages");
});

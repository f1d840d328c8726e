import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Owned, owned } from "../test/support/process.ts";
import { checkImports } from "./check-imports.ts";
import { ROOT } from "./parts/root.ts";

/** A house of a few files, under the real rules. */
function house(files: Readonly<Record<string, string>>, own: Owned = owned(onTestFinished)): string {
  const root = own.folder();
  for (const file of ["package.json", "tsconfig.json"]) cpSync(join(ROOT, file), join(root, file));
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  for (const [file, source] of Object.entries(files)) {
    mkdirSync(dirname(join(root, "src", file)), { recursive: true });
    writeFileSync(join(root, "src", file), source);
  }
  return root;
}

const SOUND = {
  "kernel/index.ts": `export interface Clock { nowMs(): number }`,
  "events/index.ts": `import type { Clock } from "../kernel/index.ts"; export type Dated = Clock;`,
  "app/cli.ts": `import "../events/index.ts"; import "../work/index.ts"; import "../sync/index.ts";`,
  "work/index.ts": `export const work = 1;`,
  "sync/index.ts": `export const sync = 1;`,
  "kernel/index.test.ts": `import "fast-check"; import "../app/cli.ts";`,
};

test("imports that go down are fine", () => {
  expect(checkImports(house(SOUND), 6)).toEqual({ modules: 6, problems: [] });
});

/** Every fault that there is a rule for, in one house: a cruise is dear. */
const FAULTS = {
  "index.ts": `export * from "./kernel/index.ts";`,
  "kernel/up.ts": `import "../app/cli.ts";`,
  "kernel/up-for-a-type.ts": `import type { Dated } from "../events/index.ts"; export type Mine = Dated;`,
  "work/beside.ts": `import "../sync/index.ts";`,
  "work/circle.ts": `import "./circle.ts";`,
  "work/front.ts": `import "../index.ts";`,
  "work/tool.ts": `import "fast-check";`,

  "work/queue.ts": "export const queue = 1;",
  "app/around.ts": `import "../work/queue.ts";`,
  "app/around.test.ts": `import "../work/queue.ts";`,
  "app/store-modules.ts": `import "../work/queue.ts";`,
  "work/inner/index.ts": "export const inner = 1;",
  "work/inner/secret.ts": `import "../queue.ts";`,
  "work/aside.ts": `import "./inner/secret.ts"; import "./inner/index.ts";`,

  "work/left/one.ts": `import "../right/two.ts";`,
  "work/left/three.ts": "export const three = 3;",
  "work/right/two.ts": "export const two = 2;",
  "work/right/four.ts": `import "../left/three.ts";`,
};

describe("in a house with every fault", () => {
  let all: readonly string[];
  beforeAll(() => {
    const own = owned();
    const { problems } = checkImports(house({ ...SOUND, ...FAULTS }, own), 5);
    all = problems.map((problem) => problem.replace(/-> .*node_modules/, "-> node_modules")).sort();
    return own.end;
  });
  const found = (rules: RegExp) => all.filter((problem) => rules.test(problem));

  test("an import up, of a sibling, in a circle, of the front door or of a tool that is not shipped is found", () => {
    expect(found(/^(?!through-index|no-cycles-between)/)).toEqual([
      "no-cycles: src/work/circle.ts -> src/work/circle.ts",
      "no-dev-dependencies-in-src: src/work/tool.ts -> node_modules/fast-check/lib/fast-check.js",
      "no-room-imports-the-front-door: src/work/front.ts -> src/index.ts",
      "no-upward-from-kernel: src/kernel/up-for-a-type.ts -> src/events/index.ts",
      "no-upward-from-kernel: src/kernel/up.ts -> src/app/cli.ts",
      "siblings-of-work-speak-in-events: src/work/beside.ts -> src/sync/index.ts",
    ]);
  });

  test("an import around a room's index.ts is found, from its neighbours in the same room too, but not from a test", () => {
    expect(found(/^through-index/)).toEqual([
      "through-index: src/app/around.ts -> src/work/queue.ts",
      "through-index: src/work/aside.ts -> src/work/inner/secret.ts",
    ]);
  });

  test("folders that import each other in a circle are found where no file does", () => {
    expect(found(/^no-cycles-between/)).toEqual([
      "no-cycles-between-folders: in src/work: src/work/left/one.ts -> src/work/right/two.ts; src/work/right/four.ts -> src/work/left/three.ts",
    ]);
  });
});

test("a blind cruise and a room without a floor are found", () => {
  expect(checkImports(house({ ...SOUND, "attic/index.ts": "export const box = 1;" }), 8).problems).toEqual([
    "saw 7 modules, fewer than 8: is it blind?",
    "src/attic has no floor in .dependency-cruiser.cjs",
  ]);
});

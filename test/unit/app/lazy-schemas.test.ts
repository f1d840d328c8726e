/** A start builds no schema of an event or of a route: most of them are never used in one process. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SRC = new URL("../../../src/", import.meta.url).href;

/** Files of the catalog and of the wire that have built a schema: while all of them were loaded, and after one of each was used. */
const PROGRAM = `
  import { registerHooks } from "node:module";
  const built = new Set();
  globalThis.noteSchema = () => {
    Error.stackTraceLimit = 50;
    for (const [, file] of new Error().stack.matchAll(/src\\/(events\\/catalog\\/[\\w-]+|surfaces\\/(?!http\\/)[\\w-]+\\/wire)\\.ts/g)) built.add(file);
  };
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith("/zod/v4/core/core.js")) return loaded;
      return { ...loaded, source: String(loaded.source).replace("init(inst, def);", "init(inst, def); globalThis.noteSchema();") };
    },
  });
  const { builtinRows } = await import("${SRC}events/index.ts");
  const { getStatus } = await import("${SRC}surfaces/status/wire.ts");
  await import("${SRC}surfaces/routes.ts");
  const atStart = [...built];
  builtinRows.MODEL_PROMOTED.payload.safeParse({});
  getStatus.answer.safeParse({});
  console.log(JSON.stringify({ atStart, used: [...built].sort() }));`;

test("only what is used of the catalog and of the wire is built", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", PROGRAM]);
  const { atStart, used } = JSON.parse(stdout) as { atStart: string[]; used: string[] };
  expect(atStart).toEqual([]);
  expect(used).toEqual(expect.arrayContaining(["events/catalog/promotion", "surfaces/status/wire"]));
  expect(used).not.toContain("events/catalog/training");
});

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { COMPILE_CACHE, COMPILED, trimCompiled } from "./compiled.ts";
import { owned } from "./process.ts";

test("programs that tests start are given a place for what they compile", async () => {
  const own = owned(onTestFinished);
  const program = join(own.folder(), "program.ts");
  writeFileSync(
    program,
    `import { getCompileCacheDir } from "node:module";\nconsole.log(String(getCompileCacheDir() satisfies unknown));`,
  );
  const started = own.startNode(program, [], { env: { [COMPILE_CACHE]: process.env[COMPILE_CACHE] } });
  await started.exited;
  expect(started.stdout()).toContain(process.env[COMPILE_CACHE] ?? COMPILED);
});

test("what was compiled begins anew when it has become too much, and stays otherwise", () => {
  const folder = owned(onTestFinished).folder();
  mkdirSync(join(folder, "v24"));
  for (const name of ["a", "b"]) writeFileSync(join(folder, "v24", name), "");
  trimCompiled(folder, 3);
  expect(readdirSync(folder)).toEqual(["v24"]);
  trimCompiled(folder, 2);
  expect(() => readdirSync(folder)).toThrow("ENOENT");
  trimCompiled(folder, 2);
});

/**
 * Mutants of our own beside Stryker's, which knows neither SQL nor numbers nor what a line is for: each takes away what one sentence
 * promises, and a unit test must notice. They stand in `planted.json`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startVitest, type Vite } from "vitest/node";
import { ROOT } from "../../../tools/parts/root.ts";
import list from "./planted.json" with { type: "json" };

export interface Planted {
  /** What does not hold any more. */
  readonly holds: string;
  readonly file: string;
  readonly was: string;
  readonly became: string;
  /** Where the tests are that must notice. */
  readonly tests: readonly string[];
}
export const PLANTED: readonly Planted[] = list;

/** Whether the code still has the place, and has it once. */
export const fits = ({ file, was }: Pick<Planted, "file" | "was">): boolean =>
  readFileSync(join(ROOT, file), "utf8").split(was).length === 2;

/** The test that noticed; undefined when none did. */
export async function noticed(planted: Planted, workers: number): Promise<string | undefined> {
  const { file, was, became, tests } = planted;
  if (!fits(planted)) throw new Error(`${file} does not say once any more: ${was}`);
  const path = join(ROOT, file);
  const plant: Vite.Plugin = {
    name: "planted",
    enforce: "pre",
    transform: (code, id) => (id === path ? code.replace(was, () => became) : undefined),
    // What is loaded of the planted file is of this run alone.
    configureVitest: ({ defineCacheKeyGenerator }) =>
      defineCacheKeyGenerator(({ id }) => (id === path ? false : undefined)),
  };
  const vitest = await startVitest(
    "test",
    [...tests],
    {
      root: ROOT,
      config: false,
      include: ["src/**/*.test.ts", "test/unit/**/*.test.ts"],
      isolate: false,
      maxWorkers: workers,
      bail: 1,
      watch: false,
      reporters: [{}],
      testTimeout: 120_000,
    },
    { plugins: [plant] },
  );
  // It says with the exit code of the process that a test failed, which is what is hoped for.
  process.exitCode = 0;
  const modules = vitest.state.getTestModules();
  const broken = modules.find((module) => module.errors().length > 0);
  const failed = modules.flatMap((module) => [...module.children.allTests("failed")]);
  await vitest.close();
  if (modules.length === 0) throw new Error(`no test is in ${tests.join(", ")}`);
  if (failed.length === 0 && broken !== undefined)
    throw new Error(`${broken.relativeModuleId} could not be run: ${broken.errors()[0]!.message}`);
  return failed[0]?.fullName;
}

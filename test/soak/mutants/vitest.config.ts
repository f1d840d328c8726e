/** How Stryker runs our tests: those of one room, named in the environment by `test/soak/mutants.ts`. */
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { keptThread } from "./kept-thread.ts";

/**
 * Stryker asks for a pool by name; this one has none there. It is for one file of tests: where there are several, a kept thread runs
 * tests of the mutant before, and calls unnoticed what somebody noticed.
 */
const onOneThread = {
  name: "one-thread-for-many-mutants",
  configureVitest: ({ project }: { project: { config: object } }) => {
    const pool = keptThread();
    Object.assign(project.config, { pool: pool.name, poolRunner: pool });
  },
};

/** The first test that fails ends a run: quick files go first. How long each took is known since the run without a mutant. */
class QuickestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const took = (file: TestSpecification) => this.ctx.cache.getTestSpecificationResult(file)?.duration ?? 0;
    return files.toSorted((a, b) => took(a) - took(b));
  }
}

export default defineConfig({
  plugins: process.env.MUTANT_TEST_FILES === "1" ? [onOneThread] : [],
  test: {
    include: JSON.parse(process.env.MUTANT_TESTS ?? "[]"),
    setupFiles: ["test/soak/mutants/on-threads.ts"],
    isolate: false,
    sequence: { sequencer: QuickestFirst },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

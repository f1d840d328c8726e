/** How Stryker runs our tests: those of one room, named in the environment by `test/soak/mutants.ts`. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: (process.env.MUTANT_TESTS ?? "").split(","),
    setupFiles: ["test/soak/mutants/on-threads.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

import { defineConfig } from "vitest/config";

/** The tiers of `npm test`; the long and cruel ones live in `npm run soak`. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          // A busy machine is slow, not wrong.
          testTimeout: 60_000,
          include: ["src/**/*.test.ts", "tools/**/*.test.ts", "test/unit/**/*.test.ts", "test/support/**/*.test.ts"],
        },
      },
      { test: { name: "simulation", include: ["test/simulation/**/*.test.ts"], testTimeout: 300_000 } },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/chaos/**/*.test.ts"],
          exclude: ["test/e2e/package.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
      { test: { name: "package", include: ["test/e2e/package.test.ts"], testTimeout: 180_000, hookTimeout: 180_000 } },
    ],
  },
});

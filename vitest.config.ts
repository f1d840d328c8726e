import { defineConfig } from "vitest/config";
import { patience } from "./test/support/patience.ts";

/** A busy machine is slow, not wrong: limits only end what would never end by itself. */
const limits = (testMs: number) => ({
  testTimeout: patience(testMs),
  hookTimeout: patience(testMs),
  teardownTimeout: patience(30_000),
  expect: { poll: { timeout: patience(60_000), interval: 25 } },
});

/** Nothing of ours keeps state in a module, so files may share what one of them has loaded: half of their time was loading. */
const shared = { isolate: false };

/** The tiers of `npm test`; the long and cruel ones live in `npm run soak`. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "tools/**/*.test.ts", "test/unit/**/*.test.ts", "test/support/**/*.test.ts"],
          ...shared,
          ...limits(180_000),
        },
      },
      { test: { name: "simulation", include: ["test/simulation/**/*.test.ts"], ...shared, ...limits(600_000) } },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/chaos/**/*.test.ts"],
          exclude: ["test/e2e/package.test.ts"],
          ...limits(300_000),
        },
      },
      { test: { name: "package", include: ["test/e2e/package.test.ts"], ...limits(300_000) } },
    ],
  },
});

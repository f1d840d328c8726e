import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { COMPILE_CACHE, COMPILED } from "./test/support/compiled.ts";
import { patience } from "./test/support/patience.ts";

/** A busy machine is slow, not wrong: limits only end what would never end by itself. */
const limits = (testMs: number) => ({
  testTimeout: patience(testMs),
  hookTimeout: patience(testMs),
  teardownTimeout: patience(30_000),
  expect: { poll: { timeout: patience(60_000), interval: 25 } },
});

/** Workers, and the threads and programs that tests start, take what was compiled once, in this run or an earlier one. */
process.env[COMPILE_CACHE] ??= COMPILED;

/**
 * Node reads our sources as they are, so it runs them as they are too: what a runner rewrites is slower to load, and slower
 * to run, since each imported name is looked up at every use.
 */
const asTheyAre = { experimental: { viteModuleRunner: false, nodeLoader: false } };

/** Nothing of ours keeps state in a module, so files may share what one of them has loaded: half of their time was loading. */
const shared = { isolate: false, ...asTheyAre };

/**
 * Files that cost most, by the processor time that was measured, dearest first: begun last, one of them would keep a worker busy
 * while the others are done. A fresh checkout knows no times of its own, and the size of a file says little.
 */
const DEAREST = [
  /e2e\/(backup|web-page|node-recovery|worker-join|cli-friendly|python-client|deploy|loop-same|loop-kill)\./,
  /e2e\/(s3-swift|sync-copies|worker-outbox|killed-consumer|config|contributor|cli-up|cli-events)\./,
  /test\/chaos\/|e2e\/(loop-|killed-|worker|delivery|questions|replicated-|jetstream-)/,
  /tools\/(check-|new-unit)|adapters\/(backup|providers\/ssh|transports)|unit\/(cli\/fuzz|work\/queue-model|workloads\/(check|misbehaving)|app\/bootstrap)/,
];
const rankOf = (path: string): number => {
  const at = DEAREST.findIndex((pattern) => pattern.test(path));
  return at < 0 ? DEAREST.length : at;
};

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a.moduleId) - rankOf(b.moduleId));
  }
}

/** The tiers of `npm test`; the long and cruel ones live in `npm run soak`. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["{src,web,tools}/**/*.test.ts", "test/{unit,support}/**/*.test.ts"],
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
          ...shared,
          ...limits(300_000),
        },
      },
      { test: { name: "package", include: ["test/e2e/package.test.ts"], ...asTheyAre, ...limits(300_000) } },
    ],
  },
});

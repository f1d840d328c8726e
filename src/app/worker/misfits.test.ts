import { expect, test } from "vitest";
import type { Lease } from "../../work/index.ts";
import type { ExecutorPort, WorkResult } from "../../work/worker/index.ts";
import { noticeMisfits } from "./misfits.ts";

const failed = (kind: "resource" | "retryable"): WorkResult => ({
  status: "failed",
  failure: { class: kind, error: "it did not work" },
});
const done: WorkResult = { status: "completed", evidence: { outputs: [], counts: {} }, files: [] };

test("a config that runs out of something three times in a row does not fit; one that works now and then does", async () => {
  const results: WorkResult[] = [];
  const executor: ExecutorPort = {
    kinds: ["selfplay"],
    run: async () => results.shift()!,
    kill() {},
    async close() {},
  };
  const watched = noticeMisfits(executor);
  const run = async (config_key: string, ...all: readonly WorkResult[]) => {
    for (const result of all) {
      results.push(result);
      const hooks = { signal: new AbortController().signal, progress() {} };
      expect(await watched.run({ config_key } as Lease, hooks)).toBe(result);
    }
  };
  const short = failed("resource");
  await run("big_2p", short, short);
  await run("flaky_2p", short, short, done, short, failed("retryable"), short);
  expect(watched.misfits()).toEqual([]);
  await run("big_2p", short);
  expect(watched.misfits()).toEqual(["big_2p"]);
});

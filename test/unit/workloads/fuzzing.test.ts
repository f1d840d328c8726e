/** A program that does anything: every job ends in an outcome that holds together, and the next one is run. */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobOutcome } from "../../../src/workloads/process/index.ts";
import { rounds } from "../../support/thorough.ts";
import { alive, openBench, type WorkloadBench } from "./bench.ts";

const FUZZING = fileURLToPath(new URL("./programs/fuzzing.mjs", import.meta.url));
/** Of this run alone: the same test may run elsewhere on the machine. */
const MARK = `ringrift-fuzzing-test-${process.pid}.`;
const JOBS = rounds(30, 60);

let bench: WorkloadBench;
beforeAll(() => {
  bench = openBench({ ...process.env, MARK });
});
afterAll(() => bench.close());

const judge = (outcome: JobOutcome): void => {
  expect(outcome.reason).not.toBe("");
  expect(outcome.error !== undefined).toBe(outcome.status === "failed");
  for (const { file, sha256, bytes } of outcome.artifacts) {
    const content = readFileSync(file);
    expect([hash("sha256", content, "hex"), content.length]).toEqual([sha256, bytes]);
  }
};

test(`${JOBS} random jobs end in outcomes that hold together, however the program ends`, async () => {
  const runner = bench.runner("", {
    args: [FUZZING],
    env_allow: ["MARK"],
    limits: { silence_seconds: 0.25, term_seconds: 0.5 },
  });
  const seen = new Map<string, number>();
  for (let seed = 0; seed < JOBS; seed += 1) {
    const outcome = await runner.runJob(bench.job({ seed }));
    judge(outcome);
    const key = outcome.error?.class ?? outcome.status;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  await runner.close();
  expect(alive(MARK)).toEqual([]);
  // What it tried was not all alike.
  expect([...seen.keys()]).toEqual(
    expect.arrayContaining(["completed", "preempted", "bad_input", "protocol", "timeout", "crash"]),
  );
});

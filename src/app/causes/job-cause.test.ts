import { describe, expect, test } from "vitest";
import type { JobView } from "../../work/index.ts";
import type { WorkFacts } from "./facts.ts";
import { jobCause } from "./job-cause.ts";

const NOW = 1_000_000;
const facts: WorkFacts = {
  now: NOW,
  isSettled: true,
  nodes: [],
  job: () => undefined,
  placement: () => undefined,
  idle: () => undefined,
  whyNotOn: () => undefined,
};
/** Its holder was lost; it may be tried again at some time. */
const failedOnce = (retry_at: number) =>
  ({
    work_id: "w7",
    work_type: "validation",
    state: "delayed",
    attempts: 1,
    max_attempts: 3,
    queued_at: NOW - 90_000,
    retry_at,
    failure: { error: "no sign of life for 64 s", error_code: null },
  }) as unknown as JobView;

describe("a job that failed once", () => {
  test("is told as failing until the time of its next try", () => {
    expect(jobCause(failedOnce(NOW + 1), facts)).toMatchObject({
      code: "job_failing",
      subject: "w7",
      what: "w7 fails: no sign of life for 64 s; attempt 2 of 3 in 1 ms",
    });
  });

  test("waits like any other from then on: where nobody is there, for a worker", () => {
    expect(jobCause(failedOnce(NOW), facts)).toMatchObject({
      code: "no_worker",
      level: "bad",
      advice: { action: "add_worker", subject: "validation" },
    });
  });
});

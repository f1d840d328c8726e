import { describe, expect, test } from "vitest";
import { type Cause, rootCauses } from "../../daemons/index.ts";
import type { ConfigSnapshot } from "../../pipeline/index.ts";
import type { JobView } from "../../work/index.ts";
import { configCause } from "./config-cause.ts";
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

test("where the only worker has fallen silent, it is named with when it was heard", () => {
  const silent = {
    label: "box2",
    state: "suspect",
    view: { capabilities: { cpu: 2 }, last_seen_at: NOW - 90_000 },
  } as unknown as WorkFacts["nodes"][number];
  const waiting = { ...failedOnce(NOW), state: "pending", failure: null } as JobView;
  expect(jobCause(waiting, { ...facts, nodes: [silent] })?.what).toBe(
    "no worker is connected: box2 is suspect, heard 1.5 min ago",
  );
});

test("that nobody is there is one root, whatever kinds of jobs wait for it", () => {
  const waitingFor = (config: string, work_type: string): Cause => {
    const cause = jobCause({ ...failedOnce(NOW), state: "pending", failure: null, work_type } as JobView, facts);
    return { ...cause!, affects: [config] };
  };
  const roots = rootCauses([waitingFor("hex8_2p", "selfplay"), waitingFor("othello6_2p", "validation")]);
  expect(roots).toMatchObject([{ code: "no_worker", affects: ["hex8_2p", "othello6_2p"] }]);
});

describe("a job that failed and is under way again", () => {
  const again = (attempts: number, progress: number | null) =>
    ({ ...failedOnce(NOW), state: "running", attempts, progress, retry_at: null, lapses: [] }) as JobView;
  const causeWith = (jobs: readonly JobView[]) =>
    configCause({
      config: {
        ...{ config_key: "hex8_2p", state: "running", stage: "data_sync", iteration: 1, attempt: 1, waits: [] },
        failures: [],
        deadline: NOW + 60_000,
      } as unknown as ConfigSnapshot,
      jobs,
      work: facts,
      unitCause: () => undefined,
      fault: undefined,
    });

  test("is told as what failed until it gets anywhere: once as a note, twice as what needs a look", () => {
    expect(causeWith([again(2, null)])).toMatchObject({
      code: "job_failing",
      level: "note",
      what: "w7 failed: no sign of life for 64 s; attempt 2 of 3 is under way",
    });
    expect(causeWith([again(3, 0)])).toMatchObject({ code: "job_failing", level: "warn", subject: "w7" });
  });

  test("is at work like any other when it does", () => {
    expect(causeWith([again(3, 0.1)])).toBeNull();
  });
});

describe("a stage that failed and is tried again", () => {
  const running = (progress: number | null, state = "running") =>
    ({ work_id: "w8", work_type: "selfplay", state, progress, lapses: [], failure: null }) as unknown as JobView;
  const causeWith = (jobs: readonly JobView[], attempt = 2) =>
    configCause({
      config: {
        ...{ config_key: "hex8_2p", state: "running", stage: "selfplay", iteration: 1, attempt, waits: [] },
        failures: [{ stage: "selfplay", code: "JOBS_FAILED", message: "no game was played", at: NOW - 5_000 }],
        deadline: NOW + 60_000,
      } as unknown as ConfigSnapshot,
      jobs,
      work: facts,
      unitCause: () => undefined,
      fault: undefined,
    });

  test("is not called at work while nothing has come of it", () => {
    expect(causeWith([running(null)])).toMatchObject({
      code: "stage_failing",
      level: "warn",
      what: "selfplay of hex8_2p failed and is being tried again, attempt 2: no game was played (JOBS_FAILED)",
    });
    expect(causeWith([running(0.2)])).toMatchObject({ level: "note" });
  });

  test("is at work again when something has", () => {
    expect(causeWith([running(null), running(1, "completed")])).toBeNull();
    expect(causeWith([running(null)], 1)).toBeNull();
  });
});

describe("a stage that failed again and again", () => {
  const failed = (stage: string, at: number) => ({ stage, code: "SEGMENTS_REJECTED", message: "4 of 4 are bad", at });
  const done = { work_id: "w9", state: "completed", progress: 1, lapses: [], failure: null };
  const causeAt = (stage: string, failures: readonly object[], job: object = done, work = facts) =>
    configCause({
      config: {
        ...{ config_key: "hex8_2p", state: "running", stage, iteration: 1, attempt: failures.length + 1, waits: [] },
        ...{ failures, deadline: NOW + 60_000 },
      } as unknown as ConfigSnapshot,
      jobs: [job as JobView],
      work,
      unitCause: () => undefined,
      fault: undefined,
    });

  const twice = [failed("data_sync", NOW - 90_000), failed("data_sync", NOW - 60_000)];

  test.each([
    ["selfplay", "selfplay is under way again"],
    ["data_sync", "it is being tried again"],
  ])("is still what there is to know while %s is under way for it", (stage, goesOn) => {
    expect(causeAt(stage, twice)).toMatchObject({
      ...{ code: "stage_failing", level: "warn", since: NOW - 90_000 },
      what: `data_sync of hex8_2p failed 2 times in a row, and ${goesOn}: 4 of 4 are bad (SEGMENTS_REJECTED)`,
    });
  });

  test("is not hidden by a job that gets on, nor by one that may yet be taken from its holder", () => {
    const atWork = {
      ...done,
      work_type: "selfplay",
      state: "running",
      node_id: "box2",
      claimed_at: NOW,
      progress: 0.5,
    };
    expect(causeAt("data_sync", twice, atWork)).toMatchObject({ code: "stage_failing", level: "warn" });
    const idle = () => ({ ms: 50_000, limitMs: 60_000, isGuess: false });
    const slow = { ...facts, idle } as typeof facts;
    expect(causeAt("selfplay", twice, atWork, slow)).toMatchObject({ code: "stage_failing", level: "warn" });
    expect(causeAt("selfplay", [], atWork, slow)).toMatchObject({ code: "job_without_progress", level: "note" });
  });

  test("is nothing to look at when it failed once, or when another failed before it", () => {
    expect(causeAt("selfplay", [failed("data_sync", NOW)])).toBeNull();
    expect(causeAt("selfplay", [failed("training", NOW), failed("data_sync", NOW)])).toBeNull();
  });
});

test("that a node checks games which it played itself holds nothing up", () => {
  const causeWith = (code: string) =>
    configCause({
      config: {
        ...{ config_key: "hex8_2p", state: "running", stage: "data_sync", iteration: 1, attempt: 1, failures: [] },
        waits: [
          { unit: "parity_validator", code, for: code, actual: "only box2", required: "two", since: NOW - 90_000 },
        ],
        deadline: NOW + 60_000,
      } as unknown as ConfigSnapshot,
      jobs: [],
      work: facts,
      unitCause: () => undefined,
      fault: undefined,
    });
  expect(causeWith("second_checker")).toBeNull();
  expect(causeWith("trial")).toMatchObject({ code: "waits", level: "warn" });
});

test("a job of which nothing came twice is told as one that does not go on, though somebody has it", () => {
  const lapse = { node_id: "box3", why: "silent", lapsed_at: NOW - 5_000 };
  const held = (lapses: readonly object[]) =>
    jobCause(
      {
        ...{ work_id: "w24", work_type: "selfplay", state: "running", node_id: "box3", failure: null },
        ...{ progress: 0.4, claimed_at: NOW - 1_000, lapses },
      } as unknown as JobView,
      facts,
    );
  expect(held([lapse])).toBeUndefined();
  expect(held([lapse, { ...lapse, node_id: "box2" }])).toBeUndefined();
  expect(held([lapse, lapse])).toMatchObject({
    code: "job_stuck",
    what: "box3 had w24 more than once and fell silent each time; box3 has it now, and the first result counts",
  });
  expect(held([lapse, { ...lapse, why: "stuck" }])).toMatchObject({
    code: "job_stuck",
    what: "w24 made no progress on box3; box3 has it now, and the first result counts",
  });
});

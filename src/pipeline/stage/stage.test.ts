/** What the stages share, as pure functions: whose turn it is, what became of jobs, how work begins and ends. */
import { describe, expect, test } from "vitest";
import { OperatingError } from "../../kernel/index.ts";
import { failuresInARow, type Iteration, isFailure, isTurnOf } from "./iteration.ts";
import { cancelJobs, followJobs, jobFailure, strandedParts } from "./jobs.ts";
import { isOpenRebuild, lostFiles, type Rebuild } from "./rebuilds.ts";
import { isRefusal, pausedWait, refusedWait, waitsSince } from "./waits.ts";
import { beginWork, done, doneIn, failed, isFor, undertakingOf, waiting } from "./work.ts";

const iteration = (more: Partial<Iteration> = {}) =>
  ({ iteration: 3, attempt: 2, stage: "training", state: "running", failures: [], ...more }) as Iteration;
const failure = { code: "X", message: "it broke", retryable: true } as const;

describe("an iteration", () => {
  test("is at the turn of its own stage, while it runs", () => {
    expect(isTurnOf("training", iteration())).toBe(true);
    expect(isTurnOf("evaluation", iteration())).toBe(false);
    expect(isTurnOf("training", iteration({ state: "waiting" }))).toBe(false);
    expect(isTurnOf("training", undefined)).toBe(false);
  });

  test("has the failures of a stage in a row that nothing of another stage interrupts", () => {
    const at = (...stages: readonly ("training" | "evaluation")[]) =>
      failuresInARow({ failures: stages.map((stage) => ({ stage })) as unknown as Iteration["failures"] }, "training");
    expect([
      at(),
      at("training"),
      at("training", "training"),
      at("training", "evaluation"),
      at("training", "evaluation", "training"),
    ]).toEqual([0, 1, 2, 0, 1]);
  });

  test("knows a failure by its code", () => {
    expect([isFailure(failure), isFailure({ message: "x" })]).toEqual([true, false]);
  });
});

describe("the work on a stage", () => {
  const begun = beginWork({ iteration: 3, attempt: 2 }, 1_000, { a: 1 });

  test("begins empty, is named by its attempt, and is of its turn alone", () => {
    expect(begun).toEqual({
      iteration: 3,
      attempt: 2,
      state: "running",
      since: 1_000,
      ended_at: null,
      jobs: {},
      outputs: [],
      evidence: {},
      failure: null,
      waits: [],
      own: { a: 1 },
    });
    expect(undertakingOf("hex8_2p", begun, "training")).toBe("hex8_2p:3:training:2");
    expect(isFor(begun, iteration())).toBe(true);
    for (const other of [iteration({ iteration: 4 }), iteration({ attempt: 1 }), undefined])
      expect(isFor(begun, other)).toBe(false);
    expect(isFor(undefined, iteration())).toBe(false);
  });

  test("ends with what proves it, or with its failure, and waits for nothing then", () => {
    const late = waiting({ ...begun, failure }, 1_500, { for: "x", actual: 1, required: 2 });
    expect(late.waits).toEqual([{ for: "x", actual: 1, required: 2, since: 1_500 }]);
    expect(done(late, 2_000, { evidence: { games: 5 } })).toEqual({
      ...begun,
      state: "done",
      ended_at: 2_000,
      evidence: { games: 5 },
    });
    expect(failed(late, 2_000, failure)).toEqual({ ...begun, state: "failed", ended_at: 2_000, failure });
  });

  test("counts for the next stage when it is done, in the same iteration", () => {
    const ended = done(begun, 2_000, {});
    expect(doneIn(ended, { iteration: 3 })).toBe(ended);
    expect(doneIn(ended, { iteration: 4 })).toBeUndefined();
    expect(doneIn(begun, { iteration: 3 })).toBeUndefined();
    expect(doneIn(undefined, { iteration: 3 })).toBeUndefined();
  });
});

describe("a wait", () => {
  test("that goes on keeps its beginning, and a new one begins now", () => {
    const before = [{ for: "queue", actual: 1, required: 2, since: 100 }];
    const [queue, other] = [
      { for: "queue", actual: 5, required: 2 },
      { for: "other", actual: null, required: null },
    ];
    expect(waitsSince(before, 900, [queue!, other!])).toEqual([
      { ...queue, since: 100 },
      { ...other, since: 900 },
    ]);
  });

  test("says in its words what refused, and who has paused", () => {
    const refused = refusedWait(OperatingError.busy("QUEUE_FULL", "there are enough"));
    expect(refused).toEqual({ for: "queue", actual: "QUEUE_FULL: there are enough", required: "takes the jobs" });
    expect([isRefusal({ ...refused, since: 1 }), isRefusal({ ...refused, for: "pause", since: 1 })]).toEqual([
      true,
      false,
    ]);
    expect(pausedWait({ by: "ann", reason: "lunch" })).toEqual({
      for: "pause",
      actual: "ann: lunch",
      required: "resumed",
    });
  });
});

describe("the jobs of a stage", () => {
  const NO_INPUT = { error: "cannot fetch", error_code: "no_input" };
  const jobs: Readonly<Record<string, unknown>> = {
    w1: { state: "completed" },
    w2: { state: "failed", failure: { error: "boom", error_code: "SIG11" } },
    w3: { state: "cancelled", failure: null },
    w4: { state: "running" },
    w5: { state: "failed", failure: NO_INPUT },
    w6: { state: "failed", failure: { error: "odd", error_code: null } },
    w7: { state: "failed", failure: NO_INPUT },
  };
  const queue = { show: (workId: string) => jobs[workId] } as never;

  test("are done, lost or under way, each with its reason", () => {
    const found = followJobs(queue, { a: "w1", b: "w2", c: "w3", d: "w4", e: "w5", f: "w6", g: "gone" });
    expect(found).toEqual({
      completed: [{ part: "a", job: jobs.w1 }],
      failed: [
        { part: "b", workId: "w2", reason: "boom", code: "SIG11" },
        { part: "c", workId: "w3", reason: "cancelled", code: "JOB_CANCELLED" },
        { part: "e", workId: "w5", reason: "cannot fetch", code: "no_input" },
        { part: "f", workId: "w6", reason: "odd", code: "JOB_FAILED" },
        { part: "g", workId: "gone", reason: "the queue has forgotten it", code: "JOB_NOT_FOUND" },
      ],
      open: ["d"],
      awaited: [],
    });
  });

  test("that lack an input are under way while it is made again, and lost when it is given up", () => {
    const awaited = { w5: { state: "awaited", why: "model 3fa9 is made again", retries: 0 } } as const;
    expect(followJobs(queue, { e: "w5", g: "w7" }, { rebuilds: {}, awaited })).toMatchObject({
      failed: [],
      open: ["e", "g"],
      awaited: [{ for: "input", actual: "w5: model 3fa9 is made again", required: "there again" }],
    });
    expect(followJobs(queue, { g: "w7" }, { rebuilds: {}, awaited: {} }).awaited).toMatchObject([
      { actual: "w7: it could not be fetched, and was not looked at yet" },
    ]);
    const given = { w5: { state: "given_up", why: "nobody can make it", retries: 3 } } as const;
    const { failed: lost, open } = followJobs(queue, { e: "w5" }, { rebuilds: {}, awaited: given });
    expect([lost, open]).toEqual([
      [{ part: "e", workId: "w5", reason: "cannot fetch: nobody can make it", code: "INPUT_LOST" }],
      [],
    ]);
    expect(jobFailure("EXPORT_FAILED", "job", lost[0]!)).toEqual({
      code: "INPUT_LOST",
      message: "job w5 of part e failed (INPUT_LOST): cannot fetch: nobody can make it",
      retryable: true,
    });
    expect(jobFailure("EXPORT_FAILED", "job", { ...lost[0]!, code: "X" }).code).toBe("EXPORT_FAILED");
  });

  test("are stranded where all who are there may not have them, and they have not begun", () => {
    const states: Readonly<Record<string, string>> = { w1: "pending", w2: "delayed", w3: "running", w4: "pending" };
    const excluded: Readonly<Record<string, string[]>> = { w1: ["a", "b"], w2: ["a", "b"], w3: ["a", "b"], w4: [] };
    const asked = {
      show: (workId: string) => (states[workId] === undefined ? undefined : { state: states[workId] }),
      placement: (workId: string) => (excluded[workId] === undefined ? undefined : { excluded: excluded[workId] }),
    } as never;
    const all = { p1: "w1", p2: "w2", p3: "w3", p4: "w4", p5: "gone" };
    expect([...strandedParts(asked, all, ["a", "b"])]).toEqual(["p1", "p2"]);
    expect([...strandedParts(asked, all, ["b"])]).toEqual(["p1", "p2"]);
    expect([...strandedParts(asked, all, ["a", "c"])]).toEqual([]);
    expect([...strandedParts(asked, all, [])]).toEqual([]);
  });

  test("are taken back where they are under way, and one that cannot be is no silent matter", async () => {
    const states = new Map([
      ["w1", "pending"],
      ["w2", "completed"],
      ["w3", "failed"],
      ["w4", "cancelled"],
      ["w5", "running"],
    ]);
    const cancelled: unknown[] = [];
    const refuses = new Set<string>();
    const asked = {
      show: (workId: string) => (states.has(workId) ? { state: states.get(workId) } : undefined),
      cancel: async (workId: string, why: object) => {
        cancelled.push([workId, why]);
        if (workId === "w5" && refuses.has("ends")) states.set("w5", "completed");
        if (refuses.size > 0) throw new Error("no");
      },
    } as never;
    await cancelJobs(asked, ["w1", "w2", "w3", "w4", "w5", "gone"], "not wanted", "ann");
    const why = { reason: "not wanted", requested_by: "ann" };
    expect(cancelled).toEqual([
      ["w1", why],
      ["w5", why],
    ]);
    refuses.add("ends");
    await cancelJobs(asked, ["w5"], "not wanted", "ann");
    await expect(cancelJobs(asked, ["w1"], "not wanted", "ann")).rejects.toThrow("job w1 cannot be taken back: no");
  });
});

test("a rebuild is open until it is done or given up, and what is given up is lost", () => {
  const rebuild = (state: Rebuild["state"], ...files: string[]) => ({ state, files }) as unknown as Rebuild;
  const states = ["waiting", "running", "checking", "done", "lost"] as const;
  expect(states.map((state) => isOpenRebuild(rebuild(state)))).toEqual([true, true, true, false, false]);
  const rebuilds = { w1: rebuild("lost", "a", "b"), w2: rebuild("done", "c"), w3: rebuild("lost", "d") };
  expect([...lostFiles({ rebuilds, awaited: {} })]).toEqual(["a", "b", "d"]);
  expect([...lostFiles(undefined)]).toEqual([]);
});

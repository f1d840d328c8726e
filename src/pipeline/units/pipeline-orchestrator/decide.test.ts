import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ConfigPlanInput,
  type ConfigRow,
  configPlanSchema,
  type Iteration,
  MODEL_UNUSABLE,
  SEGMENTS_REJECTED,
  STAGES,
  type Stage,
  type StageWork,
} from "../../stage/index.ts";
import { beginWork } from "../../stage/work.ts";
import { breakersOf, type PipelineView, reconcile } from "./decide.ts";

const configRow = (plan: Partial<ConfigPlanInput> = {}): ConfigRow => ({
  plan: configPlanSchema().parse({ config_key: "othello6_2p", ...plan }),
  paused: null,
});

const NO_WORK: PipelineView["work"] = {
  selfplay: undefined,
  data_sync: undefined,
  npz_export: undefined,
  training: undefined,
  evaluation: undefined,
  promotion: undefined,
};

const view = (changes: Partial<PipelineView> = {}): PipelineView => ({
  now: 1_000,
  config: configRow(),
  iteration: undefined,
  work: NO_WORK,
  champion: undefined,
  ...changes,
});

const opened = (changes: Partial<PipelineView> = {}) => reconcile(view(changes)).iteration;
const done = (iteration: Iteration): StageWork<never> =>
  ({ ...beginWork(iteration, 1_000, {}), state: "done", ended_at: 2_000 }) as unknown as StageWork<never>;
const failed = (iteration: Iteration, code: string, retryable = true): StageWork<never> => ({
  ...done(iteration),
  state: "failed",
  failure: { code, message: "it broke", retryable },
});
const withWork = (stage: Stage, work: StageWork<never>): PipelineView["work"] => ({ ...NO_WORK, [stage]: work });

describe("the loop of a config", () => {
  test("begins by making a champion that knows nothing, and crowns it without a match", () => {
    const first = opened();
    expect(first).toMatchObject({ iteration: 0, stage: "training", attempt: 1, state: "running", champion: null });
    const step = reconcile(view({ iteration: first, work: withWork("training", done(first)) }));
    expect(step).toMatchObject({
      kind: "closed",
      iteration: { iteration: 0, stage: "promotion" },
      ended: { stage: "training" },
    });
    const crowned = reconcile(
      view({ iteration: step.iteration, work: withWork("promotion", done(step.iteration)), champion: "a".repeat(64) }),
    );
    expect(crowned.iteration).toMatchObject({ iteration: 1, stage: "selfplay", champion: "a".repeat(64) });
  });

  test("with a champion in place goes on with games, not with a new champion", () => {
    expect(opened({ champion: "b".repeat(64) })).toMatchObject({ iteration: 1, stage: "selfplay" });
  });

  test("goes through every stage in order, one done after the other, and opens the next iteration", () => {
    let iteration = opened({ champion: "b".repeat(64) });
    const seen: Stage[] = [];
    for (const stage of STAGES) {
      expect(iteration.stage).toBe(stage);
      seen.push(iteration.stage);
      iteration = reconcile(
        view({ iteration, work: withWork(stage, done(iteration)), champion: "c".repeat(64) }),
      ).iteration;
    }
    expect(seen).toEqual([...STAGES]);
    expect(iteration).toMatchObject({ iteration: 2, stage: "selfplay", attempt: 1, champion: "c".repeat(64) });
  });

  test("stays where it is while the work runs, and for work of another attempt", () => {
    const iteration = opened({ champion: "b".repeat(64) });
    const running = beginWork(iteration, 1_000, {}) as unknown as StageWork<never>;
    expect(reconcile(view({ iteration, work: withWork("selfplay", running) })).kind).toBe("stay");
    const earlier = done({ ...iteration, iteration: 0 });
    expect(reconcile(view({ iteration, work: withWork("selfplay", earlier) })).kind).toBe("stay");
    expect(reconcile(view({ iteration })).kind).toBe("stay");
  });

  test("ends after the iterations that were asked for, and goes on when more are", () => {
    const config = configRow({ most_iterations: 1 });
    const iteration: Iteration = { ...opened({ champion: "b".repeat(64) }), stage: "promotion" };
    const end = reconcile(view({ config, iteration, work: withWork("promotion", done(iteration)) })).iteration;
    expect(end).toMatchObject({ state: "complete", iteration: 1 });
    expect(reconcile(view({ config, iteration: end })).kind).toBe("stay");
    expect(reconcile(view({ iteration: end, champion: "b".repeat(64) })).iteration).toMatchObject({
      iteration: 2,
      state: "running",
    });
  });
});

describe("a stage that failed", () => {
  const start = opened({ champion: "b".repeat(64) });
  const training: Iteration = { ...start, stage: "training" };

  test("is tried again after a wait that grows, with a number of its own", () => {
    const once = reconcile(
      view({ iteration: training, work: withWork("training", failed(training, "DIVERGED")) }),
    ).iteration;
    expect(once).toMatchObject({ state: "waiting", not_before: 2_000, waits: [{ actual: "it broke" }] });
    const work = withWork("training", failed(training, "DIVERGED"));
    expect(reconcile(view({ now: 1_999, iteration: once, work })).kind).toBe("stay");
    const again = reconcile(view({ now: 2_000, iteration: once, work })).iteration;
    expect(again).toMatchObject({ state: "running", stage: "training", attempt: 2 });
    const twice = reconcile(
      view({ now: 3_000, iteration: again, work: withWork("training", failed(again, "DIVERGED")) }),
    ).iteration;
    expect(twice.not_before).toBe(5_000);
  });

  test("opens its breaker after three failures in a row, for longer each time, and shows it", () => {
    let iteration: Iteration = { ...start, stage: "npz_export" };
    const waits: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const work = withWork("npz_export", failed(iteration, "NO_ROWS"));
      const waiting = reconcile(view({ now: 0, iteration, work })).iteration;
      waits.push(waiting.not_before!);
      const breaker = breakersOf(waiting, 0).find(({ stage }) => stage === "npz_export");
      expect(breaker?.state).toBe(n >= 2 ? "open" : "closed");
      iteration = reconcile(view({ now: waiting.not_before!, iteration: waiting, work })).iteration;
    }
    expect(waits).toEqual([1_000, 2_000, 60_000, 120_000, 240_000]);
    const next = reconcile(view({ iteration, work: withWork("npz_export", done(iteration)) })).iteration;
    expect(next.failures).toEqual([]);
  });

  test("waits for a person when trying again cannot help and nothing can be done without it", () => {
    const sync: Iteration = { ...start, stage: "npz_export" };
    const work = withWork("npz_export", failed(sync, "BAD_INPUT", false));
    const step = reconcile(view({ iteration: sync, work }));
    expect(step.iteration).toMatchObject({ state: "failed", waits: [{ actual: "it broke" }] });
    expect(reconcile(view({ now: 9e12, iteration: step.iteration, work })).kind).toBe("stay");
  });

  test("is tried again at once when a person has said so since, with nothing held against it", () => {
    const sync: Iteration = { ...start, stage: "npz_export" };
    const work = withWork("npz_export", failed(sync, "BAD_INPUT", false));
    const { iteration } = reconcile(view({ iteration: sync, work }));
    const said = (at: number) => ({ ...configRow(), retried: { by: "ann", at, reason: "mended" } });
    expect(reconcile(view({ now: 5_000, iteration, work, config: said(999) })).kind).toBe("stay");
    const again = reconcile(view({ now: 5_000, iteration, work, config: said(4_000) }));
    expect(again).toMatchObject({
      kind: "entered",
      iteration: { state: "running", stage: "npz_export", attempt: 2, failures: [], waits: [] },
    });
    // The same word counts once: what fails after it waits for the next one.
    const later = withWork("npz_export", failed(again.iteration, "BAD_INPUT", false));
    const twice = reconcile(view({ now: 6_000, iteration: again.iteration, work: later, config: said(4_000) }));
    expect(twice.iteration.state).toBe("failed");
    expect(reconcile(view({ now: 7_000, iteration: twice.iteration, work: later, config: said(4_000) })).kind).toBe(
      "stay",
    );
  });

  test("does not wait for its next time when a person has said that it is mended", () => {
    const work = withWork("training", failed(training, "DIVERGED"));
    const { iteration } = reconcile(view({ iteration: training, work }));
    const config = { ...configRow(), retried: { by: "ann", at: 1_500, reason: "mended" } };
    expect(reconcile(view({ now: 1_600, iteration, work })).kind).toBe("stay");
    expect(reconcile(view({ now: 1_600, iteration, work, config })).iteration).toMatchObject({
      state: "running",
      attempt: 2,
    });
  });

  test("gives up a candidate that cannot be had, and after three such rounds asks a person", () => {
    let iteration = training;
    for (const round of [1, 2]) {
      expect(iteration).toMatchObject({ iteration: round, state: "running" });
      const at: Iteration = { ...iteration, stage: "training" };
      const step = reconcile(
        view({ iteration: at, work: withWork("training", failed(at, "BAD_INPUT", false)), champion: "b".repeat(64) }),
      );
      expect(step.iteration).toMatchObject({ iteration: round + 1, stage: "selfplay", state: "running" });
      iteration = step.iteration;
    }
    const third: Iteration = { ...iteration, stage: "training" };
    const last = reconcile(view({ iteration: third, work: withWork("training", failed(third, "BAD_INPUT", false)) }));
    expect(last.iteration).toMatchObject({ iteration: 3, state: "failed" });
  });

  test("is not tried for ever where the round can go on without it", () => {
    let iteration: Iteration = { ...start, stage: "evaluation" };
    for (let n = 0; n < 4; n += 1) {
      const work = withWork("evaluation", failed(iteration, "CRASHED"));
      const waiting = reconcile(view({ now: 0, iteration, work })).iteration;
      expect(waiting.state).toBe("waiting");
      iteration = reconcile(view({ now: waiting.not_before!, iteration: waiting, work })).iteration;
    }
    const work = withWork("evaluation", failed(iteration, "CRASHED"));
    expect(reconcile(view({ iteration, work })).iteration).toMatchObject({ iteration: 2, stage: "selfplay" });
  });

  test("counts what failed in this round alone before it gives the candidate up", () => {
    const before = Array.from({ length: 5 }, (_, n) => ({
      code: "CRASHED",
      message: "it broke",
      retryable: true,
      iteration: 1,
      stage: "evaluation" as const,
      attempt: n + 1,
      at: n,
    }));
    const second: Iteration = { ...start, iteration: 2, stage: "evaluation", failures: before };
    const at = (iteration: Iteration) =>
      view({ iteration, work: withWork("evaluation", failed(iteration, "CRASHED")) });
    expect(reconcile(at(second)).iteration).toMatchObject({ iteration: 2, state: "waiting" });
    const elsewhere = before.map((failure) => ({ ...failure, iteration: 2, stage: "training" as const }));
    expect(reconcile(at({ ...second, failures: elsewhere })).iteration).toMatchObject({
      iteration: 2,
      state: "waiting",
    });
    const now = before.slice(1).map((failure) => ({ ...failure, iteration: 2 }));
    expect(reconcile(at({ ...second, failures: now })).iteration).toMatchObject({ iteration: 3, stage: "selfplay" });
  });

  test("has its failures on record, newest last, and a few of them", () => {
    let iteration: Iteration = { ...start, stage: "npz_export" };
    for (let now = 1; now <= 12; now += 1) {
      const work = withWork("npz_export", failed(iteration, `E${now}`));
      const waiting = reconcile(view({ now, iteration, work })).iteration;
      expect(waiting.failures.at(-1)).toEqual({
        code: `E${now}`,
        message: "it broke",
        retryable: true,
        iteration: 1,
        stage: "npz_export",
        attempt: now,
        at: now,
      });
      iteration = { ...waiting, state: "running", attempt: now + 1 };
    }
    expect(iteration.failures.map(({ code }) => code)).toEqual([
      "E3",
      "E4",
      "E5",
      "E6",
      "E7",
      "E8",
      "E9",
      "E10",
      "E11",
      "E12",
    ]);
  });

  test("for rejected games has them played again, under the next number of self-play", () => {
    const sync: Iteration = { ...start, stage: "data_sync" };
    const work = {
      ...withWork("data_sync", failed(sync, SEGMENTS_REJECTED)),
      selfplay: done({ ...start, attempt: 1 }),
    };
    const back = reconcile(view({ iteration: sync, work })).iteration;
    expect(back).toMatchObject({ stage: "selfplay", attempt: 2, state: "running" });
    const played = { ...work, selfplay: done(back) };
    expect(reconcile(view({ iteration: back, work: played })).iteration).toMatchObject({
      stage: "data_sync",
      attempt: 2,
    });
  });

  test("for a model that nobody can use has it trained again, and goes on without it after five", () => {
    const first = opened();
    const tried = reconcile(view({ iteration: first, work: withWork("training", done(first)), isTriedFirst: true }));
    expect(tried.iteration).toMatchObject({ iteration: 0, stage: "evaluation" });
    let at: Iteration = { ...start, stage: "evaluation" };
    for (const attempt of [2, 3]) {
      const work = {
        ...withWork("evaluation", failed(at, MODEL_UNUSABLE)),
        training: done({ ...at, attempt: attempt - 1 }),
      };
      const again = reconcile(view({ iteration: at, work })).iteration;
      expect(again).toMatchObject({ iteration: 1, stage: "training", attempt, state: "running" });
      const trained = { ...work, training: done(again) };
      at = reconcile(view({ iteration: again, work: trained })).iteration;
      expect(at).toMatchObject({ stage: "evaluation", attempt });
    }
    // The third one in a row opens the breaker; whoever makes it waits, and not those who measure it.
    const third = reconcile(
      view({ iteration: at, work: withWork("evaluation", failed(at, MODEL_UNUSABLE)) }),
    ).iteration;
    expect(third).toMatchObject({ iteration: 1, stage: "training", state: "waiting" });
    const five = { ...at, failures: [...third.failures, third.failures[2]!] };
    const next = reconcile(
      view({ iteration: five, work: withWork("evaluation", failed(five, MODEL_UNUSABLE)) }),
    ).iteration;
    expect(next).toMatchObject({ iteration: 2, stage: "selfplay", state: "running" });
    const hopeless = reconcile(
      view({
        iteration: { ...first, stage: "evaluation" },
        work: withWork("evaluation", failed({ ...first, stage: "evaluation" }, MODEL_UNUSABLE, false)),
      }),
    ).iteration;
    expect(hopeless).toMatchObject({ stage: "evaluation", state: "failed", waits: [{ for: "person" }] });
  });
});

test.each([
  ["selfplay", 60],
  ["data_sync", 30],
  ["npz_export", 30],
  ["training", 180],
  ["evaluation", 180],
  ["promotion", 5],
] as const)("an attempt of %s is late after %i minutes", (stage, minutes) => {
  const waiting: Iteration = { ...opened({ champion: "b".repeat(64) }), stage, state: "waiting", not_before: 5_000 };
  expect(reconcile(view({ now: 4_999, iteration: waiting })).kind).toBe("stay");
  const { iteration } = reconcile(view({ now: 5_000, iteration: waiting }));
  expect(iteration).toMatchObject({ stage, stage_since: 5_000, deadline: 5_000 + minutes * 60_000, not_before: null });
});

describe("a config on hold", () => {
  const paused = { by: "operator:ann", at: 500, reason: "the disk is being changed" };
  const iteration = opened({ champion: "b".repeat(64) });

  test("starts nothing and says who holds it, and goes on with a fresh deadline", () => {
    const config = { ...configRow(), paused };
    const held = reconcile(view({ config, iteration })).iteration;
    expect(held).toMatchObject({
      state: "paused",
      waits: [{ for: "resume", about: { by: "operator:ann" }, actual: "the disk is being changed" }],
    });
    expect(reconcile(view({ config, iteration: held, work: withWork("selfplay", done(iteration)) })).kind).toBe("stay");
    const free = reconcile(view({ now: 9e6, iteration: held }));
    expect(free).toMatchObject({ kind: "released", iteration: { state: "running", attempt: 1, stage: "selfplay" } });
    expect(free.iteration.deadline).toBeGreaterThan(9e6);
  });
});

test("whatever the stages do, the numbers only grow and nothing is entered twice", () => {
  const outcome = fc.constantFrom("done", "failed", "rejected", "pause", "wait");
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 60 }), (outcomes) => {
      let now = 0;
      let config = configRow();
      let work = NO_WORK;
      let iteration = reconcile(view({ champion: "a".repeat(64) })).iteration;
      const entered = new Set([`${iteration.iteration}/${iteration.stage}/${iteration.attempt}`]);
      for (const what of outcomes) {
        now += 10_000_000;
        const { stage } = iteration;
        if (what === "pause")
          config = { ...config, paused: config.paused === null ? { by: "x", at: now, reason: "y" } : null };
        else if (iteration.state === "running" && what === "done") work = { ...work, [stage]: done(iteration) };
        else if (iteration.state === "running" && what === "failed")
          work = { ...work, [stage]: failed(iteration, "X") };
        else if (iteration.state === "running" && what === "rejected" && stage === "data_sync")
          work = { ...work, [stage]: failed(iteration, SEGMENTS_REJECTED) };
        const step = reconcile(view({ now, config, iteration, work, champion: "a".repeat(64) }));
        expect(step.iteration.iteration).toBeGreaterThanOrEqual(iteration.iteration);
        if (
          step.iteration.state === "running" &&
          (step.kind === "entered" || step.kind === "closed" || step.kind === "failed")
        ) {
          const key = `${step.iteration.iteration}/${step.iteration.stage}/${step.iteration.attempt}`;
          expect(entered.has(key)).toBe(false);
          entered.add(key);
        }
        iteration = step.iteration;
      }
    }),
    { numRuns: 300 },
  );
});

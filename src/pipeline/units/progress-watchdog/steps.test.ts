import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { KEY, type PipelineWorld, pipelineWorld } from "../../../../test/unit/pipeline/pipeline-world.ts";
import { type Iteration, STAGES } from "../../stage/index.ts";
import { pipelineSnapshot } from "../../views.ts";
import { currentStep, deadlineOf, STEPS, type StepEvent, stepOf } from "./steps.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const turn = (stage: Iteration["stage"], more: Partial<Iteration> = {}) =>
  ({ iteration: 3, attempt: 1, stage, state: "running", deadline: 10 * HOUR, ...more }) as Iteration;
const events = Object.keys(STEPS) as StepEvent[];

describe("a step", () => {
  test("counts for the turn in which it began, and for no other", () => {
    fc.assert(
      fc.property(fc.constantFrom(...events), fc.constantFrom(...STAGES), (event, stage) => {
        const step = stepOf(event, turn(stage), 0);
        expect(step !== undefined).toBe(STEPS[event].stage === stage);
        if (step === undefined) return;
        expect(currentStep(step, turn(stage))).toEqual(step);
        expect(currentStep(step, turn(stage, { attempt: 2 }))).toBeUndefined();
        expect(currentStep(step, turn(stage, { iteration: 4 }))).toBeUndefined();
      }),
    );
  });

  test("is not set back by a sign of an earlier one that comes late", () => {
    const now = turn("evaluation");
    const started = stepOf("EVALUATION_STARTED", now, 1);
    expect(stepOf("MODEL_DISTRIBUTION_STARTED", now, 2, started)).toBeUndefined();
    expect(stepOf("EVALUATION_PROGRESS", now, 2, started)).toMatchObject({ at: 2 });
    expect(stepOf("MODEL_DISTRIBUTION_STARTED", turn("evaluation", { attempt: 2 }), 2, started)).toMatchObject({
      at: 2,
    });
  });

  test("makes a deadline earlier, and never later", () => {
    fc.assert(
      fc.property(fc.constantFrom(...events), fc.nat(20 * HOUR), fc.nat(20 * HOUR), (event, at, deadline) => {
        const now = turn(STEPS[event].stage, { deadline });
        expect(deadlineOf(now, stepOf(event, now, at))).toBe(Math.min(deadline, at + STEPS[event].withinMs));
        expect(deadlineOf(now, undefined)).toBe(deadline);
      }),
    );
  });
});

describe("progress_watchdog", () => {
  const worlds: PipelineWorld[] = [];
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });

  test("says that a run fell silent long before its stage is late, and that it goes on with its next sign", async () => {
    const w = pipelineWorld({ everyMs: MINUTE });
    worlds.push(w);
    await w.plan();
    await w.runtime([w.units.watchdog()]);
    await w.turn("training", { deadline: w.clock.now() + 10 * HOUR });
    const progress = { config_key: KEY, job_id: "j", training_epoch: 1, loss: 2 };
    const sign = () => w.driven(w.router.publish("TRAINING_PROGRESS", progress as never, { source: "test" }));
    await sign();
    await w.pass(29 * MINUTE);
    expect(w.said("PROGRESS_STALL_DETECTED")).toEqual([]);
    await w.pass(3 * MINUTE);
    expect(w.said("PROGRESS_STALL_DETECTED")).toMatchObject([
      { payload: { config_key: KEY, pipeline_stage: "training", deadline_seconds: 1_800 } },
    ]);
    const shown = pipelineSnapshot({ ...w, catalog: w.shelf }, w.clock.now()).configs[0]!;
    expect(shown.last_sign).toMatchObject({ event: "TRAINING_PROGRESS" });
    expect(shown.deadline).toBe(shown.last_sign!.until);
    await sign();
    await w.pass(2 * MINUTE);
    expect(w.said("PROGRESS_RECOVERED")).toMatchObject([{ payload: { config_key: KEY } }]);
  });
});

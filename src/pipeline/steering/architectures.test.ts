import { afterEach, describe, expect, test } from "vitest";
import { inputOf, type LearningWorld, learningWorld } from "../../../test/unit/pipeline/learning-world.ts";
import { checkpointOf } from "../models/index.ts";
import { architectureWeights, type TrainingTuning, trainingTunings, trainingWork } from "../stage/index.ts";
import { judgeArchitectures, shapesToTry } from "./architectures.ts";
import type { GateWord } from "./gates.ts";
import { gauntletFeedback } from "./index.ts";
import { ARCHITECTURE_GATES } from "./limits.ts";

const found = (from_iteration: number, architecture = "wide", sha = "b"): TrainingTuning["steps"][number] => ({
  ...{ values: { wide: 64 }, from_iteration, run_id: "r", evidence: {}, at: 0 },
  start: { architecture, model: sha.repeat(64), checkpoint: sha.repeat(64) },
});
const gate = (iteration: number, elo: number, promoted = false): GateWord => ({
  ...{
    iteration,
    attempt: 1,
    candidate: `c${iteration}`,
    opponent: "o",
    elo,
    elo_low: elo - 10,
    elo_high: elo + 10,
    games: 200,
  },
  ...{ verdict: promoted ? "promote" : "reject", elo1: 50, at: 0 },
});
const span = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("the shapes of the next search", () => {
  const shapes = { a: 1, b: 2, c: 3 };
  test("are those that gates do not speak against, and never fewer than two", () => {
    expect(shapesToTry(shapes, {})).toEqual(shapes);
    expect(shapesToTry(shapes, { plan: 0.6, b: 0.4 })).toEqual({ a: 1, c: 3 });
    expect(shapesToTry(shapes, { plan: 0.48, b: 0.52 })).toEqual(shapes);
    expect(shapesToTry({ a: 1, b: 2 }, { plan: 0.6, b: 0.4 })).toEqual({ a: 1, b: 2 });
  });
});

describe("architectures are weighed by the gates of their candidates", () => {
  test("not while there is only one", () => {
    expect(judgeArchitectures(undefined, [gate(1, 30, true)], 2)).toEqual({
      ...{ weights: {}, architecture: "plan", back: false },
    });
  });

  test("the one that gains more gets more, and all shares add up to one", () => {
    const gates = [...span(1, 4).map((at) => gate(at, -40)), gate(5, 80, true), gate(6, 60, true)];
    const { weights, architecture, back } = judgeArchitectures({ steps: [found(5)] }, gates, 7);
    expect(weights.wide).toBeGreaterThan(0.6);
    expect(weights.wide! + weights.plan!).toBeCloseTo(1, 12);
    expect([architecture, back]).toEqual(["wide", false]);
  });

  test("one that brings no champion goes back, in one iteration and for good", () => {
    const steps = { steps: [found(3)] };
    const last = 3 + ARCHITECTURE_GATES;
    const gates = span(1, last + 5).map((at) => gate(at, -30));
    const verdicts = span(3, last + 3).map((at) =>
      judgeArchitectures(
        steps,
        gates.filter((each) => each.iteration < at),
        at,
      ),
    );
    expect(verdicts.map(({ back }) => back)).toEqual(span(3, last + 3).map((at) => at === last));
    expect(verdicts.at(-1)!.architecture).toBe("plan");
    expect(verdicts.at(-1)!.weights.wide).toBeLessThan(0.5);
    // One that became champion stays.
    const kept = judgeArchitectures(steps, [gate(3, 60, true), ...span(4, 20).map((at) => gate(at, -30))], 21);
    expect(kept).toMatchObject({ architecture: "wide", back: false });
  });

  test("later gates change no word on an iteration", () => {
    const steps = { steps: [found(2), found(9, "wider", "c")] };
    const gates = span(1, 30).map((at) => gate(at, ((at * 37) % 90) - 45, at % 11 === 0));
    for (const at of span(2, 30))
      expect(
        judgeArchitectures(
          steps,
          gates.filter((each) => each.iteration < at),
          at,
        ),
      ).toEqual(judgeArchitectures(steps, gates, at));
  });
});

describe("ARCHITECTURE_WEIGHTS_UPDATED", () => {
  let world: LearningWorld | undefined;
  afterEach(() => world?.close());

  test("leads, by training_trigger, to a line that goes back to the champion", async () => {
    const w = await learningWorld({ more: (services) => [gauntletFeedback(services)] });
    world = w;
    await w.first();
    const champion = w.champion()!.model;
    await w.driven(w.change((rows) => rows.put(trainingTunings, w.configKey, { steps: [found(1)] })));
    for (const iteration of span(1, ARCHITECTURE_GATES)) await w.round(iteration, -200);
    expect(w.champion()!.model).toBe(champion);
    const next = ARCHITECTURE_GATES + 1;
    await w.exported(next);
    await w.turn("training", next);
    await w.pass(3_000);
    expect(w.row(architectureWeights)).toMatchObject({ iteration: next, back: true, architecture: "plan" });
    expect(w.said("ARCHITECTURE_WEIGHTS_UPDATED").at(-1)!.payload).toMatchObject({
      reason: "training goes back to plan",
    });
    const { inputs } = inputOf((await w.claim("training"))!);
    expect(inputs).toContainEqual({ name: "checkpoint", sha256: checkpointOf(w.store, w.configKey, champion) });
    expect(w.row(trainingWork)!.iteration).toBe(next);
    expect(w.troubles()).toEqual([]);
  });
});

import { afterEach, describe, expect, test } from "vitest";
import {
  inputOf,
  type LearningWorld,
  learningWorld,
  playMatch,
  sha,
  train,
} from "../../../test/unit/pipeline/learning-world.ts";
import type { Lease } from "../../work/index.ts";
import { recordVerdict } from "../evaluation/verdicts.ts";
import { recordCrowning } from "../models/champion-history.ts";
import { modelEntry } from "../models/index.ts";
import { cascadeStarts, iterations, replayBuffers, trainingWork } from "../stage/index.ts";
import type { JudgedGate } from "./gates.ts";
import { derivedTraining, perOrchestrator } from "./index.ts";
import { derivedRuns } from "./tables.ts";
import { readyToPass } from "./units/derived-training/cascade.ts";
import { dueRecipe } from "./units/derived-training/decide.ts";

const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const open = async (plan: object): Promise<LearningWorld> => {
  const world = await learningWorld({
    only: ["training_coordinator", "training_trigger", "auto_promotion", "model_coordinator"],
    more: (services) => [derivedTraining(services), perOrchestrator(services)],
    plan: { kinds: ["selfplay", "training", "evaluation", "export"], ...plan },
  });
  worlds.push(world);
  await world.first();
  return world;
};

const RECIPE = { every: 2, training: { wide: 24, narrow: 16 }, steps: 50, blocks: 120 };
const off = { ...RECIPE, every: null };

const begun = async (w: LearningWorld, iteration: number) => {
  await w.exported(iteration);
  await w.turn("evaluation", iteration);
  await w.pass(2_000);
};

async function act(w: LearningWorld, lease: Lease, gap: number): Promise<void> {
  await w.queue.start(lease);
  if (lease.work_type === "training") await w.queue.complete(lease, train(lease, w.shelf));
  else
    await w.queue.complete(
      lease,
      playMatch(lease, w.shelf, (player) => (player === "student" ? gap : 0)),
    );
  await w.pass(20);
}

/** Does what is asked for until nobody asks any more. */
async function made(w: LearningWorld, gap: number): Promise<void> {
  for (let idle = 0; idle < 3; ) {
    const lease = await w.claim();
    idle = lease === undefined ? idle + 1 : 0;
    if (lease === undefined) await w.pass(1_500);
    else await act(w, lease, gap);
  }
}

describe("a network that is made of a champion", () => {
  test("learns from it, is measured against it, and enters the registry with what it came from", async () => {
    const w = await open({ derived: { distillation: RECIPE, nnue: off } });
    const teacher = w.champion()!.model;
    await begun(w, 1);
    expect(w.row(derivedRuns)).toBeUndefined();
    await begun(w, 2);
    const lease = (await w.claim("training"))!;
    const { inputs, parameters } = inputOf(lease);
    expect(inputs).toContainEqual({ name: "teacher", sha256: teacher });
    expect(parameters).toMatchObject({ wide: 24, narrow: 16, steps: 50 });
    expect(inputs.map(({ name }) => name)).not.toContain("checkpoint");
    await act(w, lease, -60);
    await made(w, -60);
    const run = w.row(derivedRuns)!;
    expect(run).toMatchObject({ state: "ended", kind: "distillation", teacher, games: 240 });
    expect(run.proof!.high).toBeLessThan(0);
    const entry = modelEntry(w.store, w.configKey, run.model!.sha256)!;
    expect(entry).toMatchObject({ state: "staging", derived: { kind: "distillation", teacher, games: 240 } });
    expect(entry.inputs).toHaveLength(2);
    expect(w.said("REGISTRY_UPDATED").map(({ payload }) => payload.model_id)).toContain(run.model!.sha256);
    expect(w.said("TRAINING_THRESHOLD_REACHED")).toMatchObject([
      { payload: { training_kind: "distillation", base_model_id: teacher } },
    ]);
    // It plays for nobody, and is kept.
    expect(w.champion()!.model).toBe(teacher);
    expect(w.services.catalog.pinsOf(run.model!.sha256)).toContain(`derived:${w.configKey}`);
    expect(w.services.catalog.parentsOf(run.model!.sha256)).toContain(teacher);
    await w.pass(5_000);
    expect(modelEntry(w.store, w.configKey, run.model!.sha256)!.state).toBe("staging");
    expect(w.troubles()).toEqual([]);
  });

  test("of NNUE style has no teacher; one recipe begins in an iteration, the next one after it", async () => {
    const w = await open({ derived: { distillation: RECIPE, nnue: RECIPE } });
    await begun(w, 2);
    await made(w, 0);
    expect(w.row(derivedRuns)).toMatchObject({ kind: "distillation", state: "ended" });
    await begun(w, 3);
    const lease = (await w.claim("training"))!;
    expect(inputOf(lease).inputs.map(({ name }) => name)).not.toContain("teacher");
    await act(w, lease, 0);
    await made(w, 0);
    expect(w.row(derivedRuns)).toMatchObject({ kind: "nnue", state: "ended", begun: { distillation: 2, nnue: 3 } });
  });

  test("is not there where its job fails or its loss is no number: a typed failure, and the loop goes on", async () => {
    for (const code of ["DERIVED_JOB_FAILED", "TRAINING_LOSS_NOT_FINITE"]) {
      const w = await open({ derived: { distillation: RECIPE, nnue: off } });
      await begun(w, 2);
      const lease = (await w.claim("training"))!;
      await w.queue.start(lease);
      if (code === "DERIVED_JOB_FAILED")
        await w.queue.fail(lease, { class: "bad_input", error: "the teacher is not there", error_code: "NO_INPUT" });
      else await w.queue.complete(lease, train(lease, w.shelf, { policy_loss: "NaN" }));
      await w.pass(4_000);
      expect(w.row(derivedRuns)).toMatchObject({ state: "failed", failure: { code }, model: null });
      expect(await w.claim()).toBeUndefined();
    }
  });

  test("is due when a multiple of its number was passed", () => {
    const both = { distillation: { ...RECIPE, every: 4 }, nnue: { ...RECIPE, every: 3 } } as never;
    expect(dueRecipe(both, 3)).toBe("nnue");
    expect(dueRecipe(both, 4, { nnue: 3 })).toBe("distillation");
    expect(dueRecipe(both, 5, { nnue: 3, distillation: 4 })).toBeUndefined();
    expect(dueRecipe(both, 12, { nnue: 12, distillation: 4 })).toBeUndefined();
    expect(dueRecipe(both, 13, { nnue: 12, distillation: 4 })).toBe("distillation");
    const always = { distillation: { ...RECIPE, every: 1 }, nnue: { ...RECIPE, every: 1 } } as never;
    expect(dueRecipe(always, 1)).toBe("distillation");
    expect(dueRecipe(always, 2, { distillation: 1 })).toBe("nnue");
    expect(dueRecipe(always, 3, { distillation: 1, nnue: 2 })).toBe("distillation");
  });
});

describe("a cascade from few players to many", () => {
  const FEW = "ring_2p";
  const MANY = "ring_3p";
  const gate = (iteration: number, verdict: "promote" | "reject", elo: number) =>
    recordVerdict({
      ...{ config_key: FEW, iteration, attempt: 1, candidate: `m${iteration}`, opponent: "m0", budget: "default" },
      ...{ verdict, reason: "", blocks: 10, games: 20, score: 0.5, counts: [], llr: 3, elo0: 0, elo1: 50 },
      ...{ alpha: 0.05, beta: 0.05, redundancy: 1, normalized_elo: 0, at: iteration },
      ...{ elo, elo_low: elo - 30, elo_high: elo + 30 },
    });
  const crowned = (generation: number, iteration: number) =>
    recordCrowning({
      ...{ config_key: FEW, generation, model: sha(`${FEW} ${iteration}`), previous: null, iteration },
      ...{ cause: generation === 1 ? "first" : "gate", by: "test", evidence: {}, at: 0 },
    });
  const at = (w: LearningWorld, iteration: number, state = "running") =>
    w.driven(w.change((rows) => rows.put(iterations, FEW, { iteration, state } as never)));

  test("begins when the gates of the config before it say so, with the champion of then, and is told once", async () => {
    const w = await learningWorld({
      configKey: MANY,
      only: ["training_coordinator", "training_trigger", "auto_promotion", "model_coordinator"],
      more: (services) => [derivedTraining(services)],
      plan: { cascade: { config_key: FEW, promotions: 2 } },
    });
    worlds.push(w);
    // Who starts it by the name of its type gets the work of that type.
    expect(await w.driven(w.manager().stop("derived_training"))).toBe(true);
    expect(await w.driven(w.manager().start("CASCADE_TRAINING"))).toBe(true);
    await w.turn("training", 0);
    expect(w.row(trainingWork)!.waits).toMatchObject([{ for: "cascade", actual: `${FEW} does not train here` }]);
    await w.driven(
      w.change((rows) => {
        for (const change of [crowned(1, 0), crowned(2, 1), gate(1, "promote", 60), gate(2, "reject", -40)])
          rows.apply(change);
      }),
    );
    await at(w, 3);
    await w.pass(3_000);
    expect(w.row(cascadeStarts)).toBeUndefined();
    expect(w.queue.list({ workType: "training" })).toEqual([]);
    await w.driven(
      w.change((rows) => {
        for (const change of [gate(3, "promote", 50), crowned(3, 3), gate(4, "promote", 50), crowned(4, 4)])
          rows.apply(change);
      }),
    );
    await at(w, 5);
    await w.pass(3_000);
    expect(w.row(cascadeStarts)).toMatchObject({ config_key: FEW, iteration: 3, promotions: 2 });
    const [job] = w.queue.list({ workType: "training" });
    expect(w.queue.payload(job!.work_id)).toMatchObject({
      parameters: { fresh: true },
      inputs: [{ name: "related", sha256: sha(`${FEW} 3`) }],
    });
    expect(w.said("TRAINING_THRESHOLD_REACHED")).toMatchObject([
      { payload: { config_key: MANY, training_kind: "cascade", base_model_id: sha(`${FEW} 3`) } },
    ]);
    expect(w.troubles()).toEqual([]);
  });

  test("goes on where waiting would bring nothing: on a plateau, and at the end", () => {
    const judged = (iteration: number, isPromoted: boolean, isPlateau = false) =>
      ({ iteration, isPromoted, isPlateau }) as JudgedGate;
    const gates = [judged(1, true), judged(2, false), judged(3, false, true), judged(4, true)];
    expect(readyToPass(gates, 2, undefined)).toMatchObject({
      iteration: 3,
      promotions: 1,
      reason: "it stands on a plateau",
    });
    expect(readyToPass(gates.slice(0, 2), 2, { iteration: 2, state: "running" })).toBeUndefined();
    expect(readyToPass(gates.slice(0, 2), 2, { iteration: 2, state: "complete" })).toMatchObject({ iteration: 2 });
    expect(readyToPass([], 2, undefined)).toBeUndefined();
  });
});

describe("prioritised replay", () => {
  const REPLAY = { replay: { prioritised: true, exponent: 0.7, correction: 0.5 } };
  const asked = async (w: LearningWorld, iteration = 1) => {
    await w.exported(iteration);
    await w.turn("training", iteration);
    await w.pass(2_000);
  };
  const priorities = (w: LearningWorld, summary: object = { max_priority: 3, min_priority: 0.1 }) => ({
    outputs: [{ name: "priorities.arena", ...w.shelf.put("priorities") }],
    counts: { rows: 1_000 },
    summary: summary as never,
  });

  test("has the rows of a window judged by the champion, and training waits for it and draws by it", async () => {
    const w = await open(REPLAY);
    await asked(w);
    expect(w.row(trainingWork)!.waits).toMatchObject([{ for: "priorities" }]);
    expect(await w.claim("training")).toBeUndefined();
    const lease = (await w.claim("export"))!;
    const { inputs, parameters } = inputOf(lease);
    expect(parameters).toEqual({ mode: "priorities" });
    expect(inputs.at(-1)).toEqual({ name: "model", sha256: w.champion()!.model });
    await w.queue.start(lease);
    await w.queue.complete(lease, priorities(w));
    await w.pass(3_000);
    const { file } = w.row(replayBuffers)!;
    expect(w.said("PER_BUFFER_REBUILT")).toMatchObject([{ payload: { samples: 1_000, artifact_hash: file!.sha256 } }]);
    const run = inputOf((await w.claim("training"))!);
    expect(run.inputs).toContainEqual({ name: "priorities", sha256: file!.sha256 });
    expect(run.parameters).toMatchObject({ priority_exponent: 0.7, priority_correction: 0.5 });
    expect(w.row(trainingWork)!.evidence.priorities).toBe(file!.sha256);
    expect(w.troubles()).toEqual([]);
  });

  test.each([
    ["fails for good", "PRIORITIES_FAILED"],
    ["brings no numbers", "PRIORITIES_NOT_FINITE"],
    ["brings no file", "PRIORITIES_MISSING"],
  ])("leaves training as it is where its job %s", async (_, code) => {
    const w = await open(REPLAY);
    await asked(w);
    const lease = (await w.claim("export"))!;
    await w.queue.start(lease);
    const good = priorities(w);
    if (code === "PRIORITIES_FAILED")
      await w.queue.fail(lease, { class: "bad_input", error: "no such model", error_code: "BAD" });
    else
      await w.queue.complete(
        lease,
        code === "PRIORITIES_MISSING"
          ? { ...good, outputs: [{ ...good.outputs[0]!, name: "other.arena" }] }
          : priorities(w, { max_priority: "NaN", min_priority: 0 }),
      );
    await w.pass(3_000);
    expect(w.row(replayBuffers)).toMatchObject({ state: "failed", failure: { code } });
    const run = inputOf((await w.claim("training"))!);
    expect(run.inputs.map(({ name }) => name)).not.toContain("priorities");
    expect(run.parameters).not.toHaveProperty("priority_exponent");
  });

  test("asks for nothing by default", async () => {
    const w = await open({});
    await asked(w);
    expect(await w.claim("export")).toBeUndefined();
    expect(inputOf((await w.claim("training"))!).inputs.map(({ name }) => name)).not.toContain("priorities");
  });
});

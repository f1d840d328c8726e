import { afterEach, describe, expect, test } from "vitest";
import { type LearningWorld, learningWorld, type WorldOptions } from "../../../test/unit/pipeline/learning-world.ts";
import { evaluationWork, promotionWork, trainingWork } from "../stage-work.ts";
import { championHistory } from "./champion-rows.ts";
import { modelEntries } from "./registry.ts";

const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const open = async (options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld(options);
  worlds.push(world);
  return world;
};

/** The first champion, made from nothing. */
async function first(w: LearningWorld): Promise<string> {
  await w.turn("training", 0);
  await w.work();
  await w.turn("promotion", 0);
  return w.champion()!.model;
}

/** One round of training, evaluation and promotion with a candidate so much stronger than its champion. */
async function round(w: LearningWorld, iteration: number, gain: number): Promise<string> {
  await w.exported(iteration);
  await w.turn("training", iteration);
  await w.work(1_000, () => w.row(trainingWork)?.state === "done");
  const candidate = w.row(trainingWork)!.own.model!;
  w.strengths.set(candidate, (w.strengths.get(w.champion()!.model) ?? 0) + gain);
  await w.turn("evaluation", iteration);
  await w.work(1_000, () => w.row(evaluationWork)?.state === "done");
  await w.turn("promotion", iteration);
  return candidate;
}

describe("a round from training to promotion", () => {
  test("the first champion is made without a gate and stands in history and registry", async () => {
    const w = await open();
    const champion = await first(w);
    expect(w.row(promotionWork)).toMatchObject({ state: "done", own: { promoted: true, model: champion } });
    expect(championHistory(w.store, w.configKey)).toMatchObject([{ generation: 1, model: champion, cause: "first" }]);
    await w.pass(3_000);
    expect(modelEntries(w.store)).toMatchObject([{ model: champion, state: "production", iteration: 0 }]);
    expect(w.troubles()).toEqual([]);
  });

  test("a stronger candidate is promoted with its evidence, a weaker one is rejected, and training goes on from both", async () => {
    const w = await open();
    const old = await first(w);
    const better = await round(w, 1, 150);
    expect(w.champion()).toMatchObject({ model: better, generation: 2, cause: "gate", iteration: 1 });
    expect(w.said("MODEL_PROMOTED")).toMatchObject([
      { payload: { model_id: better, previous_model_id: old, artifact_hash: better } },
    ]);
    const worse = await round(w, 2, -150);
    expect(w.champion()).toMatchObject({ model: better });
    expect(w.said("PROMOTION_REJECTED")).toMatchObject([{ payload: { model_id: worse, gate: "elo" } }]);
    await w.exported(3);
    await w.turn("training", 3);
    const lease = (await w.claim("training"))!;
    const checkpoint = w.row(trainingWork)!.evidence.base_checkpoint;
    expect((lease.payload.inputs as { name: string; sha256: string }[]).at(-1)).toEqual({
      name: "checkpoint",
      sha256: checkpoint,
    });
    expect(modelEntries(w.store).find(({ checkpoint: its }) => its === checkpoint)?.model).toBe(worse);
    expect(w.troubles()).toEqual([]);
  });
});

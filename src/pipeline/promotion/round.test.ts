import { afterEach, describe, expect, test } from "vitest";
import { type LearningWorld, learningWorld, type WorldOptions } from "../../../test/unit/pipeline/learning-world.ts";
import type { ArtifactCatalog } from "../../sync/index.ts";
import { championHistory } from "../models/champion-history.ts";
import { modelEntries } from "../models/registry.ts";
import { promotionWork, trainingWork } from "../stage/index.ts";

const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const open = async (options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld(options);
  worlds.push(world);
  return world;
};

describe("a round from training to promotion", () => {
  test("the first champion is made without a gate and stands in history and registry", async () => {
    const w = await open();
    const champion = await w.first();
    expect(w.row(promotionWork)).toMatchObject({ state: "done", own: { promoted: true, model: champion } });
    expect(championHistory(w.store, w.configKey)).toMatchObject([{ generation: 1, model: champion, cause: "first" }]);
    await w.pass(3_000);
    expect(modelEntries(w.store)).toMatchObject([{ model: champion, state: "production", iteration: 0 }]);
    expect(w.troubles()).toEqual([]);
  });

  test("a stronger candidate is promoted with its evidence, a weaker one is rejected, and training goes on from both", async () => {
    const w = await open();
    const old = await w.first();
    const better = await w.round(1, 150);
    expect(w.champion()).toMatchObject({ model: better, generation: 2, cause: "gate", iteration: 1 });
    expect(w.said("MODEL_PROMOTED")).toMatchObject([
      { payload: { model_id: better, previous_model_id: old, artifact_hash: better } },
    ]);
    const worse = await w.round(2, -150);
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

describe("model_coordinator", () => {
  test("follows a model through its life, with its lineage, losses and verdict", async () => {
    const w = await open();
    const old = await w.first();
    const better = await w.trained(1, 300);
    const entry = (model: string) => modelEntries(w.store).find((each) => each.model === model)!;
    await w.pass(1_100);
    expect(entry(better)).toMatchObject({ state: "training", verdict: null, base_checkpoint: entry(old).checkpoint });
    expect(entry(better).losses).toMatchObject({ policy_loss: 1.2, validation_loss: 1.9 });
    await w.turn("evaluation", 1);
    await w.pass(1_100);
    expect(entry(better).state).toBe("evaluating");
    await w.evaluated(1);
    await w.pass(1_100);
    expect(entry(better)).toMatchObject({ state: "staging", verdict: { verdict: "promote" } });
    await w.turn("promotion", 1);
    await w.pass(1_100);
    expect([entry(better).state, entry(old).state]).toEqual(["production", "archived"]);
    const told = w.said("REGISTRY_UPDATED").map(({ payload }) => payload);
    expect(told.filter(({ model_id }) => model_id === better).map(({ model_state }) => model_state)).toEqual([
      "training",
      "evaluating",
      "staging",
      "production",
    ]);
    expect(told.at(-1)).toMatchObject({ config_key: w.configKey, artifact_hash: expect.any(String) });
    expect(w.said("MODEL_UPDATED")).toMatchObject([{ payload: { model_id: better, changed_fields: ["verdict"] } }]);
    expect(w.troubles()).toEqual([]);
  });

  test("keeps the checkpoint that a run went on from while it is under way", async () => {
    const said: [owner: string, sha256s: readonly string[]][] = [];
    const catalog = {
      get: () => undefined,
      join: () => ({
        record: () => undefined,
        accept: () => undefined,
        pin: (owner: string, sha256s: readonly string[]) => void said.push([owner, sha256s]),
      }),
    } as unknown as ArtifactCatalog;
    const w = await open({ catalog });
    await w.first();
    await w.round(1, -300);
    await w.exported(2);
    await w.turn("training", 2);
    await w.claim("training");
    await w.pass(2_100);
    const base = w.row(trainingWork)!.evidence.base_checkpoint;
    const held = said.findLast(([name]) => name === `candidates:${w.configKey}`)![1];
    expect(held).toContain(base);
  });

  test("pins champions, what one may go back to, and the candidate, and says so only when that changes", async () => {
    const said: [owner: string, sha256s: readonly string[]][] = [];
    const catalog = {
      get: () => undefined,
      join: () => ({
        record: () => undefined,
        accept: () => undefined,
        pin: (owner: string, sha256s: readonly string[]) => void said.push([owner, sha256s]),
      }),
    } as unknown as ArtifactCatalog;
    const w = await open({ catalog });
    const old = await w.first();
    const better = await w.round(1, 300);
    await w.pass(2_100);
    const held = (owner: string) => said.findLast(([name]) => name === `${owner}:${w.configKey}`)![1];
    const checkpoints = modelEntries(w.store).map(({ checkpoint }) => checkpoint!);
    expect(held("champions")).toEqual([old, better, ...checkpoints].sort());
    expect(held("candidates")).toEqual([better, w.row(trainingWork)!.own.checkpoint].sort());
    const before = said.length;
    await w.pass(10_000);
    expect(said).toHaveLength(before);
  });
});

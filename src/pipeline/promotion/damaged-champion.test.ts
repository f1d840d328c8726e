/** A champion whose file is damaged is made again, and goes only when nobody can. */
import { afterEach, expect, test } from "vitest";
import { type LearningWorld, learningWorld } from "../../../test/unit/pipeline/learning-world.ts";
import { modelEntry } from "../models/registry.ts";
import { NO_REBUILDS, type Rebuild, rebuildRows } from "../stage/index.ts";

const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** Two champions, and the second one's file is found damaged. */
async function damaged() {
  const w = await learningWorld();
  worlds.push(w);
  const first = await w.first();
  const second = await w.round(1, 400);
  expect(w.champion()).toMatchObject({ model: second });
  const payload = {
    model_id: second,
    node_id: "n1",
    artifact_hash: second,
    damage: "checksum",
    config_key: w.configKey,
  };
  await w.driven(w.router.publish("MODEL_CORRUPTED", payload as never, { source: "test" }));
  await w.pass(3_000);
  expect(modelEntry(w.store, w.configKey, second)?.corrupted).toMatchObject({ damage: "checksum" });
  const rebuild = (state: Rebuild["state"]) =>
    w.driven(
      w.change((rows) =>
        rows.put(rebuildRows, w.configKey, {
          ...NO_REBUILDS,
          rebuilds: {
            w1: {
              files: [second],
              what: "model",
              state,
              job: null,
              times: 1,
              tries: 0,
              shunned: [],
              why: "",
              since: 0,
              ended_at: null,
            },
          },
        }),
      ),
    );
  return { w, first, second, rebuild };
}

test("it stays champion while it is made again, and its entry is clean when it is there", async () => {
  const { w, second, rebuild } = await damaged();
  await rebuild("running");
  await w.pass(10_000);
  expect(w.champion()).toMatchObject({ model: second });
  const payload = { node_id: "n1", artifact_hash: second, copies: 1, source_node_id: "n1", duration_seconds: 3 };
  await w.driven(w.router.publish("REPAIR_COMPLETED", payload as never, { source: "test" }));
  await w.pass(3_000);
  expect(modelEntry(w.store, w.configKey, second)?.corrupted).toBeNull();
  expect(w.champion()).toMatchObject({ model: second, cause: "gate" });
});

test("it is withdrawn for the last good one when nobody can make it again", async () => {
  const { w, first, rebuild } = await damaged();
  await rebuild("lost");
  await w.pass(10_000);
  expect(w.champion()).toMatchObject({ model: first, cause: "rollback" });
});

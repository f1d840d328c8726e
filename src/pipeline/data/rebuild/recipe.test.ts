import { describe, expect, test } from "vitest";
import { type ConfigPlanInput, configPlanSchema, seedFor } from "../../stage/index.ts";
import { withoutLost } from "../units/auto-export/decide.ts";
import { isJudged, type KnownFile, type Recipe, recipeOf } from "./recipe.ts";

const sha = (letter: string) => letter.repeat(64);
const plan = (more: Partial<ConfigPlanInput> = {}) =>
  configPlanSchema().parse({
    config_key: "hex8_2p",
    seed: 7,
    games_per_iteration: 50,
    games_per_job: 20,
    selfplay: { simulations: 8 },
    holdout_share: 0.1,
    ...more,
  });
const file = (more: Partial<KnownFile>): KnownFile => ({
  sha256: sha("f"),
  kind: "samples",
  iteration: 3,
  part: "p2",
  parents: [sha("a")],
  ...more,
});
const UNKNOWN = { code: "REBUILD_UNKNOWN", retryable: false };

describe("what a lost file is made of", () => {
  const games = {
    work_type: "selfplay",
    parameters: { simulations: 8, games: 10, first_game: 40 },
    seed: seedFor(7, "selfplay", 3),
    inputs: [{ name: "model", sha256: sha("a") }],
  };
  const trained: Recipe = { parameters: { steps: 3 }, seed: 5, inputs: [{ name: "checkpoint", sha256: sha("c") }] };

  test.each<[string, Partial<KnownFile>, object]>([
    ["samples: the games of their part", {}, games],
    ["games: the same job", { kind: "games" }, games],
    [
      "a shard: its segments in their order",
      { kind: "training_set", part: "shard", parents: [sha("b"), sha("a")] },
      {
        work_type: "export",
        parameters: { mode: "shard", format: "npz", holdout_share: 0.1 },
        seed: null,
        inputs: [
          { name: "samples-0000", sha256: sha("b") },
          { name: "samples-0001", sha256: sha("a") },
        ],
      },
    ],
    [
      "held-out rows of several shards: combined",
      { kind: "holdout", part: "combine-holdout" },
      { work_type: "export", parameters: { mode: "combine", format: "npz" } },
    ],
    ["a model: what its run was given", { kind: "model", part: "p0" }, { work_type: "training", ...trained }],
    ["a checkpoint: the same run", { kind: "checkpoint", part: "p0" }, { work_type: "training", ...trained }],
    ["a part that the plan does not have", { part: "p9" }, UNKNOWN],
    ["games of nobody knows which model", { parents: [] }, UNKNOWN],
    ["a shard without a history", { kind: "training_set", part: "shard", parents: [] }, UNKNOWN],
    ["a kind that no job makes", { kind: "pairs" }, UNKNOWN],
  ])("%s", (_, more, expected) => {
    expect(recipeOf(file(more), plan(), trained)).toMatchObject(expected);
  });

  test("a model that was trained elsewhere cannot be made here", () => {
    expect(recipeOf(file({ kind: "model" }), plan(), undefined)).toMatchObject({
      ...UNKNOWN,
      message: expect.stringContaining("trained elsewhere"),
    });
  });

  test("what the workload of the config does not do is not asked for", () => {
    expect(
      recipeOf(file({ kind: "training_set", part: "shard" }), plan({ kinds: ["selfplay"] }), trained),
    ).toMatchObject(UNKNOWN);
  });
});

test.each([
  ["selfplay", 3, "samples", true],
  ["data_sync", 3, "games", true],
  ["npz_export", 3, "samples", false],
  ["data_sync", 4, "samples", false],
  ["data_sync", 3, "model", false],
])("in %s of iteration %i, %s of iteration 3 are judged: %s", (stage, iteration, kind, expected) => {
  expect(isJudged({ kind, iteration: 3 }, { stage, iteration })).toBe(expected);
});

test("a window loses the shards that are lost, and a shard the held-out rows that are", () => {
  const shard = (letter: string, holdout: string | null) => ({
    sha256: sha(letter),
    holdout: holdout === null ? null : { sha256: sha(holdout) },
  });
  const window = [shard("a", "1"), shard("b", "2"), shard("c", null)];
  const { window: kept, left } = withoutLost(window, new Set([sha("a"), sha("2"), sha("9")]));
  expect(kept).toEqual([shard("b", null), shard("c", null)]);
  expect(left).toEqual([sha("a"), sha("2")]);
  expect(withoutLost(window, new Set()).window).toEqual(window);
});

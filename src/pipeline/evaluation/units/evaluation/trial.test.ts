/** A model that nobody can use: it is rejected, its producer trains nothing for a while, and those who could not play it are not blamed. */
import { afterEach, describe, expect, test } from "vitest";
import {
  inputOf,
  type LearningWorld,
  learningWorld,
  playMatch,
  train,
  type WorldOptions,
} from "../../../../../test/unit/pipeline/learning-world.ts";
import type { Lease } from "../../../../work/index.ts";
import { evaluationWork, trainingWork } from "../../../stage/index.ts";
import { heldTrainers, unusables } from "../../../training/index.ts";
import { judgeTrial, type Shown } from "./trial.ts";

const shown = (plays: boolean | null, otherPlays: boolean | null, node = "a"): Shown => ({
  node,
  plays,
  otherPlays,
  reason: "no model",
});

describe("what a trial says", () => {
  test.each<[string, Shown[], object]>([
    ["one node lets it play", [shown(false, true), shown(true, true, "b")], { kind: "plays" }],
    [
      "two that can play cannot with it",
      [shown(false, true), shown(false, true, "b")],
      { kind: "unusable", isProven: true },
    ],
    ["the only one there is", [shown(false, true)], { kind: "unusable", isProven: true }],
    [
      "nobody was there to compare it with",
      [shown(false, null), shown(false, null, "b")],
      { kind: "unusable", isProven: false },
    ],
    [
      "one of two had somebody to compare it with",
      [shown(false, true), shown(false, null, "b")],
      { kind: "unusable", isProven: false },
    ],
    ["nodes that cannot play at all", [shown(false, false), shown(false, false, "b")], { kind: "unknown" }],
    [
      "one cannot play at all, the other is one alone",
      [shown(false, false), shown(false, true, "b")],
      { kind: "unknown" },
    ],
    ["one of two said nothing", [shown(null, true), shown(false, true, "b")], { kind: "unknown" }],
    ["nobody said anything", [shown(null, null)], { kind: "unknown" }],
  ])("%s", (_what, given, expected) => {
    expect(judgeTrial(given)).toMatchObject(expected);
  });
});

const NODES = ["honest-1", "honest-2", "liar"];
const OFFER = { cpu: 99, gpu: 0, memory_gb: 99, gpu_memory_gb: 0, tags: [] };
const ONLY = ["training_trigger", "training_coordinator", "evaluation_daemon", "auto_promotion"];
const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const open = async (options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld({ only: ONLY, workersFor: () => NODES, ...options });
  worlds.push(world);
  return world;
};

const isLie = (w: LearningWorld, sha256: string) => w.shelf.files.get(sha256)?.toString().startsWith("noise") ?? false;

/** Does one job of a node as its program would: the liar brings noise for a model, and nobody can play with that. */
async function doOne(w: LearningWorld, node: string, kind: string): Promise<Lease | undefined> {
  const [lease] = await w.queue.claim({ node_id: node, most: 1, offer: OFFER, kinds: [kind] });
  if (lease === undefined) return undefined;
  await w.queue.start(lease);
  if (kind === "training") {
    const honest = train(lease, w.shelf);
    const lie = [{ name: "model.bin", ...w.shelf.put(`noise ${lease.work_id}`) }];
    await w.queue.complete(lease, node === "liar" ? { ...honest, outputs: lie } : honest);
  } else if (inputOf(lease).inputs.some(({ sha256 }) => isLie(w, sha256)))
    await w.queue.fail(lease, { class: "retryable", error: "cannot unpickle the model" });
  else
    await w.queue.complete(
      lease,
      playMatch(lease, w.shelf, () => 0),
    );
  await w.pass(20);
  return lease;
}

/** Honest nodes play until the evaluation has ended. */
async function play(w: LearningWorld, nodes = ["honest-1", "honest-2"]) {
  for (let i = 0; i < 500 && w.row(evaluationWork)?.state === "running"; i += 1) {
    const did = [];
    for (const node of nodes) did.push(await doOne(w, node, "evaluation"));
    if (did.every((lease) => lease === undefined)) await w.pass(2_000);
  }
  return w.row(evaluationWork)!;
}

test("a candidate that honest nodes cannot play is rejected, and somebody else trains it again from the same checkpoint", async () => {
  const w = await open();
  await w.turn("training", 0);
  await doOne(w, "honest-1", "training");
  await w.turn("promotion", 0);
  const start = w.row(trainingWork)!.own.checkpoint;
  await w.exported(1);
  await w.turn("training", 1);
  await w.pass(1_100);
  expect(await doOne(w, "liar", "training")).toBeDefined();
  const lie = w.row(trainingWork)!.own.model!;
  await w.turn("evaluation", 1);
  const ended = await play(w);

  expect(ended).toMatchObject({ state: "failed", failure: { code: "MODEL_UNUSABLE", retryable: true } });
  expect(ended.failure!.message).toBe(
    `model ${lie.slice(0, 12)} of liar cannot play (honest-1 and honest-2, where others play): cannot unpickle the model`,
  );
  expect(heldTrainers(w.row, 1)).toMatchObject([{ producer: "liar", times: 1, until_iteration: 6, model: lie }]);
  // Nobody who could not play it is blamed, as nobody else could.
  for (const node of ["honest-1", "honest-2"])
    for (const { sort } of w.queue.outcomes.of(node).filter(({ ok }) => !ok))
      expect(w.queue.outcomes.othersDo(sort, node)).toBe(false);

  await w.turn("training", 1, 2);
  await w.pass(1_100);
  expect(await doOne(w, "liar", "training")).toBeUndefined();
  const again = (await doOne(w, "honest-2", "training"))!;
  expect(inputOf(again).inputs.filter(({ name }) => name === "checkpoint")).toEqual([
    { name: "checkpoint", sha256: start },
  ]);
  await w.turn("evaluation", 1, 2);
  expect((await play(w)).state).toBe("done");
  expect(w.troubles()).toEqual([]);
});

test("where nobody can play anything it is not the candidate's fault", async () => {
  const w = await open();
  await w.turn("training", 0);
  await doOne(w, "honest-1", "training");
  await w.turn("promotion", 0);
  await w.exported(1);
  await w.turn("training", 1);
  await w.pass(1_100);
  await doOne(w, "honest-1", "training");
  await w.turn("evaluation", 1);
  for (let i = 0; i < 200 && w.row(evaluationWork)?.state === "running"; i += 1) {
    for (const node of NODES) {
      const [lease] = await w.queue.claim({ node_id: node, most: 1, offer: OFFER, kinds: ["evaluation"] });
      if (lease !== undefined) await w.queue.fail(lease, { class: "retryable", error: "exit code 1" });
    }
    await w.pass(2_000);
  }
  expect(w.row(evaluationWork)).toMatchObject({ state: "failed", failure: { code: "EVALUATION_JOB_FAILED" } });
  expect(w.row(unusables)).toBeUndefined();
});

test("nobody is blamed for what the program itself makes: two nodes made the same bytes", async () => {
  const w = await open();
  await w.turn("training", 0);
  await doOne(w, "honest-1", "training");
  await w.turn("promotion", 0);
  await w.exported(1);
  const noise = w.shelf.put("noise of everybody");
  for (const [attempt, node] of [
    [1, "honest-1"],
    [2, "honest-2"],
  ] as const) {
    await w.turn("training", 1, attempt);
    await w.pass(1_100);
    const [lease] = await w.queue.claim({ node_id: node, most: 1, offer: OFFER, kinds: ["training"] });
    await w.queue.complete(lease!, { ...train(lease!, w.shelf), outputs: [{ name: "model.bin", ...noise }] });
    await w.pass(20);
    await w.turn("evaluation", 1, attempt);
    await play(w, NODES);
  }
  expect(w.row(evaluationWork)).toMatchObject({
    state: "failed",
    failure: { code: "MODEL_UNUSABLE", retryable: false },
  });
  expect(w.row(evaluationWork)!.failure!.message).toContain("Another node made the same bytes");
  expect(heldTrainers(w.row, 1)).toEqual([]);
});

describe("the first model of somebody's own program", () => {
  const first = async (node: string, options: WorldOptions = {}) => {
    const w = await open({ isOfOthers: () => true, ...options });
    await w.turn("training", 0);
    await doOne(w, node, "training");
    await w.turn("evaluation", 0);
    return { w, ended: await play(w, NODES) };
  };

  test("plays itself before it is crowned", async () => {
    const { w, ended } = await first("honest-1");
    expect(ended).toMatchObject({ state: "done", evidence: { skipped: "there is no champion yet", trial: "plays" } });
    await w.turn("promotion", 0);
    expect(w.champion()).toMatchObject({ model: w.row(trainingWork)!.own.model, cause: "first" });
  });

  test("is made again by somebody else where nobody can use it; with a baseline beside it its producer is held back", async () => {
    const { w, ended } = await first("liar");
    expect(ended.failure).toMatchObject({ code: "MODEL_UNUSABLE", retryable: true });
    expect(heldTrainers(w.row, 0)).toMatchObject([{ producer: "liar", times: 0, until_iteration: 1 }]);
    const known = await first("liar", { anchors: () => ["random"] });
    expect(known.ended.failure!.message).toContain("honest-1 and honest-2, where others play");
    expect(heldTrainers(known.w.row, 0)).toMatchObject([{ producer: "liar", times: 1, until_iteration: 5 }]);
    await known.w.turn("training", 0, 2);
    expect(await doOne(known.w, "liar", "training")).toBeUndefined();
    expect(await doOne(known.w, "honest-1", "training")).toBeDefined();
  });

  test("of the built-in games needs no trial: its file was read to the last weight", async () => {
    const w = await open();
    await w.turn("training", 0);
    await doOne(w, "honest-1", "training");
    await w.turn("evaluation", 0);
    expect(w.row(evaluationWork)).toMatchObject({ state: "done", evidence: { skipped: "there is no champion yet" } });
  });
});

test("a producer that is held back trains all the same where nobody else is there", async () => {
  let there = NODES;
  const w = await open({ isOfOthers: () => true, anchors: () => ["random"], workersFor: () => there });
  await w.turn("training", 0);
  await doOne(w, "liar", "training");
  await w.turn("evaluation", 0);
  await play(w);
  await w.turn("training", 0, 2);
  expect(await doOne(w, "liar", "training")).toBeUndefined();
  there = ["liar"];
  await w.pass(2_500);
  expect(await doOne(w, "liar", "training")).toBeDefined();
  expect(w.row(trainingWork)).toMatchObject({ attempt: 2, state: "done" });
});

test("a checkpoint with which runs fail is left out after two of them, and its producer is held back", async () => {
  const w = await open();
  await w.turn("training", 0);
  await doOne(w, "honest-1", "training");
  await w.turn("promotion", 0);
  const { model, checkpoint } = w.row(trainingWork)!.own;
  await w.exported(1);
  const failures = [1, 2].map((attempt) => ({
    code: "TRAINING_JOB_FAILED",
    message: "job w9 of part p0 failed (crash): cannot unpickle the checkpoint",
    retryable: true,
    iteration: 1,
    stage: "training" as const,
    attempt,
    at: w.clock.now(),
  }));
  await w.turn("training", 1, 2, { failures: failures.slice(0, 1) });
  await w.pass(1_100);
  const [second] = await w.queue.claim({ node_id: "honest-2", most: 1, offer: OFFER, kinds: ["training"] });
  expect(inputOf(second!).inputs).toContainEqual({ name: "checkpoint", sha256: checkpoint });
  await w.turn("training", 1, 3, { failures });
  await w.pass(2_100);
  const third = (await doOne(w, "honest-2", "training"))!;
  expect(inputOf(third).inputs).toContainEqual({ name: "model", sha256: model });
  expect(inputOf(third).inputs.some(({ name }) => name === "checkpoint")).toBe(false);
  expect(heldTrainers(w.row, 1)).toMatchObject([{ producer: "honest-1", model: checkpoint, times: 1 }]);
});

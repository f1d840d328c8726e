import { expect, test } from "vitest";
import { type Scene, simulateLiveness } from "./liveness/world.ts";

/** `LIVENESS_SEEDS=from-to` replays or widens; a single failing seed is replayed by `LIVENESS_SEEDS=17-17`. */
const [from, to] = (process.env.LIVENESS_SEEDS ?? "5-6").split("-").map(Number) as [number, number];

/** The first world, which two tests look at. */
let firstWorld: ReturnType<typeof simulateLiveness> | undefined;
const worldOf = (seed: number) => {
  if (seed !== from) return simulateLiveness(seed);
  firstWorld ??= simulateLiveness(from);
  return firstWorld;
};

test(`with one honest worker the loop promotes, rejects or says what a person must do, in the worlds ${from} to ${to}`, async () => {
  const sums = { crashes: 0, verdicts: 0 };
  for (let seed = from; seed <= to; seed += 1) {
    const { violations, outcomes, crashes } = await worldOf(seed);
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    for (const [config, verdicts] of Object.entries(outcomes)) {
      expect(verdicts, `${config} in seed ${seed}`).toBeGreaterThanOrEqual(2);
      sums.verdicts += verdicts;
    }
    sums.crashes += crashes;
  }
  expect(sums.crashes).toBeGreaterThan(0);
});

test("one seed gives one history", async () => {
  const [first, second] = [await worldOf(from), await simulateLiveness(from)];
  expect(first.trace).toEqual(second.trace);
  expect(first.trace.length).toBeGreaterThan(20);
});

const findsIn = async (scene: Scene, seeds: number) => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { violations } = await simulateLiveness(seed, scene);
    if (violations.length > 0) return violations.join("; ");
  }
  return undefined;
};

test("checkers that are counted among nodes without a worker are found out", async () => {
  expect(await findsIn({ plant: "nodes-as-workers", others: [], isLocal: false }, 3)).toContain("no connected worker");
});

test("a busy machine that gets no job at all is found out", async () => {
  const scene: Scene = { plant: "pressure-stops", others: [], isLocal: true, busy: 0.93 };
  expect(await findsIn(scene, 6)).toContain("machine busy (93 %)");
});

test("parts that nobody can read and everybody checks again are found out", async () => {
  expect(await findsIn({ plant: "noise-retried", others: ["noisy"] }, 3)).toContain("nothing came of a_2p");
});

test("a worker that is heard and keeps its job without getting anywhere is found out", async () => {
  const scene: Scene = { others: ["stuck"] };
  expect(await findsIn(scene, 2)).toBeUndefined();
  expect(await findsIn({ ...scene, plant: "no-progress-deadline" }, 4)).toContain("nothing came of a_2p");
});

test("a model that counts though nobody can read it is found out", async () => {
  const scene: Scene = { others: ["noisy", "noisy"] };
  expect(await findsIn(scene, 2)).toBeUndefined();
  expect(await findsIn({ ...scene, plant: "models-unread" }, 4)).toContain("nothing came of a_2p");
});

test("a result that counts without its files is found out", async () => {
  // One alone is held back before it has done much: in most worlds nothing of it counted.
  const scene: Scene = { plant: "done-without-files", others: ["undelivering", "undelivering"] };
  expect(await findsIn(scene, 4)).toContain("never came");
});

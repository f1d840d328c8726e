import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { EVIDENCE, PLENTY, workWorld } from "../../../test/unit/work/work-world.ts";
import { seededRandom } from "../../kernel/index.ts";
import { chiSquareOf, deviations } from "./results-residual.ts";

test("chi-square is that of the books", () => {
  // The example of `scipy.stats.chi2_contingency`.
  expect(chiSquareOf([10, 10, 20], [20, 20, 20])).toEqual({ chi: expect.closeTo(2.777_777_777_8, 8), degrees: 2 });
  expect(chiSquareOf([50, 50], [500, 500])).toEqual({ chi: 0, degrees: 1 });
});

test("too few outcomes, or only one kind of them, say nothing", () => {
  expect(chiSquareOf([4, 5], [500, 500])).toBeUndefined();
  expect(chiSquareOf([50, 0], [500, 0])).toBeUndefined();
});

test("ten outcomes on each side are enough, and nine are not", () => {
  expect(chiSquareOf([5, 5], [500, 500])).toEqual({ chi: 0, degrees: 1 });
  expect(chiSquareOf([500, 500], [5, 5])).toEqual({ chi: 0, degrees: 1 });
  expect(chiSquareOf([500, 500], [4, 5])).toBeUndefined();
});

test("a kind of outcome counts where at least one is to be expected on both sides", () => {
  expect(chiSquareOf([5, 4, 1], [45, 36, 9])).toEqual({ chi: expect.closeTo(0, 10), degrees: 2 });
  expect(chiSquareOf([45, 36, 9], [5, 4, 1])).toEqual({ chi: expect.closeTo(0, 10), degrees: 2 });
  // A tenth of one is expected on one side, ten on the other.
  expect(chiSquareOf([5, 5, 0], [490, 490, 10])?.degrees).toBe(1);
  expect(chiSquareOf([490, 490, 10], [5, 5, 0])?.degrees).toBe(1);
});

test("whose row is whose does not matter", () => {
  const row = fc.tuple(fc.nat(500), fc.nat(500), fc.nat(500));
  fc.assert(
    fc.property(row, row, (a, b) => {
      const [one, two] = [chiSquareOf(a, b), chiSquareOf(b, a)];
      expect(one?.degrees).toBe(two?.degrees);
      if (one !== undefined) expect(one.chi).toBeCloseTo(two!.chi, 8);
    }),
  );
});

/** Three nodes with 20 batches of four jobs each; who wins how often is the node's own affair. */
async function played(shareOf: (node: string) => number, nodes = ["a", "b", "c"]) {
  const w = workWorld();
  onTestFinished(() => w.close());
  const random = seededRandom(1);
  for (let batch = 0; batch < 20; batch += 1) {
    await w.queue.addAll(
      Array.from({ length: 6 }, () => ({
        work_type: "selfplay" as const,
        config_key: "hex7_2p",
        batch_id: `hex7_2p:${batch}:selfplay:1`,
      })),
    );
    for (const node_id of nodes)
      for (const lease of await w.queue.claim({ node_id, most: 2, offer: PLENTY })) {
        const games = 50;
        // The share of the first seat drifts with the model, for everybody alike.
        const first = Array.from({ length: games }, () => random.next() < shareOf(node_id) + batch / 100).filter(
          Boolean,
        ).length;
        await w.queue.complete(lease, {
          ...EVIDENCE,
          counts: { games, samples: 1, outcome_0: 0, outcome_1: first, outcome_2: games - first },
        });
      }
  }
  return async (node: string) => (await w.queue.figures(node)).results_residual;
}

test("nodes that play alike are near each other, however the games change from batch to batch", async () => {
  const residual = await played(() => 0.4);
  for (const node of ["a", "b", "c"]) expect(Math.abs((await residual(node))!)).toBeLessThan(3);
  expect(await residual("d")).toBeNull();
});

test("a node whose games end otherwise stands out", async () => {
  const residual = await played((node) => (node === "b" ? 0.6 : 0.4));
  expect(await residual("b")).toBeGreaterThan(10);
  // Who is compared with it is not blamed for that.
  for (const node of ["a", "c"]) expect(Math.abs((await residual(node))!)).toBeLessThan(3);
});

test("of two nodes that differ neither is blamed", async () => {
  const residual = await played((node) => (node === "b" ? 0.6 : 0.4), ["a", "b"]);
  for (const node of ["a", "b"]) expect(await residual(node)).toBe(4);
});

test("what a node did before it was mended does not count, also within a batch", async () => {
  const w = workWorld();
  onTestFinished(() => w.close());
  await w.queue.addAll(
    Array.from({ length: 4 }, () => ({ work_type: "selfplay" as const, config_key: "hex7_2p", batch_id: "one" })),
  );
  const play = async (node_id: string, first: number) => {
    const [lease] = await w.queue.claim({ node_id, most: 1, offer: PLENTY });
    const counts = { games: 100, samples: 1, outcome_0: first, outcome_1: 100 - first };
    await w.queue.complete(lease!, { ...EVIDENCE, counts });
  };
  await play("a", 50);
  await play("c", 50);
  await play("b", 100);
  await w.pass(1_000);
  const mendedAt = w.clock.now();
  expect(await w.queue.resultsResidual("b", 0)).toBeGreaterThan(5);
  await play("b", 50);
  expect(await w.queue.resultsResidual("b", mendedAt)).toBeLessThan(3);
});

test("few degrees are no more suspicious than many", () => {
  // The points that one in a thousand exceeds, from the tables: 3.09 standard deviations.
  for (const [chi, degrees] of [
    [13.816, 2],
    [18.467, 4],
    [29.588, 10],
    [149.449, 100],
  ] as const)
    expect(deviations(chi, degrees)).toBeCloseTo(3.09, 1);
});

test("batches are compared one by one: playing more of the early ones is no difference, and a small one says nothing", async () => {
  const w = workWorld();
  onTestFinished(() => w.close());
  /** Ends jobs of one batch: each node as many games as said, a given share of them won by the first seat. */
  const batch = async (batch_id: string, share: number, games: Record<string, number>) => {
    await w.queue.addAll(
      Object.keys(games).map(() => ({ work_type: "selfplay" as const, config_key: "hex7_2p", batch_id })),
    );
    for (const [node_id, played] of Object.entries(games)) {
      const [lease] = await w.queue.claim({ node_id, most: 1, offer: PLENTY });
      const first = Math.round(played * share);
      const counts = { games: played, samples: 1, outcome_0: first, outcome_1: played - first };
      await w.queue.complete(lease!, { ...EVIDENCE, counts });
    }
  };
  await batch("early", 0.2, { a: 500, b: 50 });
  await batch("late", 0.8, { a: 50, b: 500 });
  await batch("small", 0.5, { a: 4, b: 500 });
  // Two batches with one degree each, in which nothing differs.
  expect((await w.queue.figures("a")).results_residual).toBeCloseTo(deviations(0, 2), 8);
});

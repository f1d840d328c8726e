import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gatePlan } from "../../../test/support/gate-plan.ts";
import { seededRandom } from "../../kernel/index.ts";
import { configPlanSchema } from "../stage/index.ts";
import { drawBlocks } from "../statistics/index.ts";
import { studyGate } from "../statistics/simulated-blocks.ts";
import {
  addBlocks,
  batchOf,
  emptyCounts,
  gateFor,
  lookAtGate,
  looksDecided,
  partsOfBatch,
  redundancyOfMatch,
} from "./gate.ts";

const gate = configPlanSchema().parse({ config_key: "a_2p" }).gate;
const promoted = (normalized_elo: number) => ({ verdict: "promote" as const, normalized_elo });
const rejected = { verdict: "reject" as const, normalized_elo: -5 };

describe("the bounds of a gate", () => {
  test("are those of the statistics for the usual plan, whatever the last promotions brought", () => {
    const gains = fc.array(fc.double({ min: -50, max: 300, noNaN: true }), { maxLength: 6 });
    fc.assert(
      fc.property(gains, (oldestFirst) => {
        expect(gateFor(gate, oldestFirst.toReversed().map(promoted))).toEqual(gatePlan(oldestFirst, gate.batch_blocks));
      }),
    );
  });

  test("draw together when gates do not pass, and open again after a big step", () => {
    const upper = (verdicts: Parameters<typeof gateFor>[1]) => gateFor(gate, verdicts).bounds[1];
    expect(upper([])).toBe(50);
    expect(upper([rejected, rejected])).toBe(50);
    expect(upper([rejected, rejected, rejected])).toBe(20);
    expect(upper([rejected, rejected, rejected, promoted(80), promoted(80)])).toBe(50);
    expect(upper([rejected, rejected, rejected, promoted(30), promoted(40)])).toBe(30);
    expect(upper([promoted(200), rejected, rejected, rejected])).toBe(50);
  });

  test("a finer test has a higher cap, always of whole batches", () => {
    const any = fc.record({
      elo1: fc.integer({ min: 20, max: 90 }),
      batch_blocks: fc.integer({ min: 1, max: 50 }),
      most_blocks: fc.integer({ min: 1, max: 500 }),
    });
    fc.assert(
      fc.property(any, fc.double({ min: 0, max: 100, noNaN: true }), (changes, gain) => {
        const plan = gateFor({ ...gate, ...changes }, [promoted(gain)]);
        expect(plan.capBlocks % plan.batchBlocks).toBe(0);
        expect(plan.capBlocks).toBeGreaterThanOrEqual(changes.most_blocks);
        expect(plan.bounds[0]).toBeLessThan(plan.bounds[1]);
        expect(plan.bounds[1]).toBeLessThanOrEqual(changes.elo1);
      }),
    );
  });
});

describe("a gate of a config whose gains jump about", () => {
  test("may be wrong about a promotion less often, by as much as its verdict weighs less, and has more blocks for it", () => {
    expect(gateFor(gate, [], 1)).toEqual(gateFor(gate, []));
    expect(gateFor(gate, [], 0.5)).toMatchObject({ alpha: 0.025, beta: 0.05, bounds: [0, 50], capBlocks: 500 });
  });

  test("keeps its error rates: it is fixed before the first block", () => {
    const blocks = drawBlocks(2);
    const plan = gateFor(gate, [], 0.5);
    const study = (elo: number, seed: number) =>
      studyGate({ blocks, elo, drawShare: 0, seatElo: 0 }, plan, 1_000, seededRandom(seed));
    // 2.5 % and about 94 %, and three standard errors of what 1,000 runs show.
    expect(study(0, 31).promoted).toBeLessThanOrEqual(25 + 15);
    expect(study(60, 32).promoted).toBeGreaterThanOrEqual(915);
  });
});

describe("a gate whose lower bound is not 0", () => {
  const upperAndCap = (changes: Partial<typeof gate>, verdicts: Parameters<typeof gateFor>[1] = []) => {
    const { bounds, capBlocks } = gateFor({ ...gate, ...changes }, verdicts);
    return [...bounds, capBlocks];
  };

  test("has its cap by how far the two bounds lie apart, not by where the upper one lies", () => {
    // Half as far apart: four times the blocks.
    expect(upperAndCap({ elo0: 10, elo1: 50 }, [promoted(30)])).toEqual([10, 30, 4 * gate.most_blocks]);
    expect(upperAndCap({ elo0: -30, elo1: 50, least_elo1: 10 }, [promoted(10)])).toEqual([
      -30,
      10,
      4 * gate.most_blocks,
    ]);
    expect(upperAndCap({ elo0: -30, elo1: 50 })).toEqual([-30, 50, gate.most_blocks]);
  });

  test("stays a test where gains have shrunk to that bound, or the plan leaves no room", () => {
    expect(upperAndCap({ elo0: 25, elo1: 50 }, [promoted(20)]).slice(0, 2)).toEqual([25, 26]);
    expect(upperAndCap({ elo0: 60, elo1: 50 })).toEqual([60, 61, 100 * gate.most_blocks]);
  });
});

describe("the cut of a match", () => {
  test("every block is in one part, and each part knows its batch", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 8 }),
        (batch, blocks, parts) => {
          const cut = partsOfBatch(batch, blocks, parts);
          expect(
            cut.flatMap(({ firstBlock, blocks: n }) => Array.from({ length: n }, (_, i) => firstBlock + i)),
          ).toEqual(Array.from({ length: blocks }, (_, i) => batch * blocks + i));
          expect(cut.every(({ name, blocks: n }) => n > 0 && batchOf(name) === batch)).toBe(true);
        },
      ),
    );
  });

  test("blocks fall into the cells of their scores", () => {
    const block = (scores: number[]) => ({ block: 0, opening: "x", scores });
    expect(
      addBlocks(emptyCounts(2), [block([0, 0]), block([1, 0]), block([0.5, 0.5]), block([1, 0.5]), block([1, 1])], 2),
    ).toEqual([1, 0, 2, 1, 1]);
    expect(addBlocks(emptyCounts(3), [block([1, 1 / 3, 0])], 3).indexOf(1)).toBe(4);
  });
});

describe("a look at a gate", () => {
  const plan = gateFor(gate, []);
  test("promotes, rejects and goes on", () => {
    expect(lookAtGate([0, 5, 20, 40, 35], 2, plan, 0)).toMatchObject({
      kind: "verdict",
      result: { decision: "promote" },
    });
    expect(lookAtGate([35, 40, 20, 5, 0], 2, plan, 0)).toMatchObject({
      kind: "verdict",
      result: { decision: "reject" },
    });
    expect(lookAtGate([2, 4, 8, 4, 2], 2, plan, 0)).toMatchObject({ kind: "continue" });
  });

  test("has no verdict on games that repeat each other, however clear they look", () => {
    expect(lookAtGate([0, 0, 0, 0, 100], 2, plan, 0.51)).toMatchObject({ kind: "redundant" });
    expect(lookAtGate([0, 0, 0, 0, 100], 2, plan, 0.5)).toMatchObject({ kind: "verdict" });
  });

  test("looks decided when the rest of the batch would settle it, and not before", () => {
    const plan = gateFor(gate, []);
    const won = Array.from({ length: 10 }, (_, block) => ({ block, opening: String(block), scores: [1, 1] }));
    const even = won.map((block) => ({ ...block, scores: [1, 0] }));
    const counts = emptyCounts(2);
    expect(looksDecided(counts, won, 2, plan)).toBe(true);
    expect(looksDecided(counts, even, 2, plan)).toBe(false);
    expect(looksDecided(counts, won.slice(0, 1), 2, plan)).toBe(
      lookAtGate(
        addBlocks(
          counts,
          Array.from({ length: plan.batchBlocks }, () => won[0]!),
          2,
        ),
        2,
        plan,
        0,
      ).kind === "verdict",
    );
  });

  test("redundancy is that of the positions or of the openings, whichever is worse", () => {
    expect(
      redundancyOfMatch(
        [
          { games: 10, redundancy: 0.2 },
          { games: 30, redundancy: 0.4 },
        ],
        ["a", "b"],
      ),
    ).toBeCloseTo(0.35);
    expect(redundancyOfMatch([{ games: 10, redundancy: 0 }], ["a", "a", "a", "b"])).toBe(0.5);
    expect(redundancyOfMatch([], [])).toBe(0);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gatePlan } from "../../../test/support/gate-plan.ts";
import { isOperatingError } from "../../kernel/index.ts";
import { drawBlocks, winBlocks } from "./block.ts";
import { logLikelihoodRatio, sprt } from "./sprt.ts";
import type { SprtPlan } from "./sprt-plan.ts";

const pairs = drawBlocks(2);
const plan: SprtPlan = { model: "normalized", bounds: [0, 50], alpha: 0.05, beta: 0.05, batchBlocks: 1 };

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (thrown) {
    return isOperatingError(thrown) ? thrown.code : `untyped: ${String(thrown)}`;
  }
  return "none";
};

const someCounts = fc
  .array(fc.oneof(fc.nat(5), fc.nat(400)), { minLength: 5, maxLength: 5 })
  .filter((counts) => counts.some((count) => count > 0));
const someModel = fc.constantFrom("logistic", "normalized") as fc.Arbitrary<"logistic" | "normalized">;
const someBounds = fc
  .tuple(fc.double({ min: -80, max: 80, noNaN: true }), fc.double({ min: 1, max: 80, noNaN: true }))
  .map(([low, width]): [number, number] => [low, low + width]);

describe("the log-likelihood ratio", () => {
  it("has its golden values", () => {
    const llr = (counts: number[], model: "logistic" | "normalized", bounds: [number, number]) =>
      logLikelihoodRatio(counts, pairs, { model, bounds }).llr;
    expect(llr([13, 37, 50, 25, 3], "normalized", [0, 4])).toBeCloseTo(-0.549125, 6);
    expect(llr([10789, 19328, 33806, 19402, 10543], "logistic", [-3, 1])).toBeCloseTo(2.131068, 6);
    expect(llr([0, 0, 3, 5, 22], "normalized", [0, 50])).toBeCloseTo(4.897978, 6);
  });

  it("negates when sides and bounds are swapped", () => {
    fc.assert(
      fc.property(someCounts, someModel, someBounds, (counts, model, [low, high]) => {
        const there = logLikelihoodRatio(counts, pairs, { model, bounds: [low, high] });
        const back = logLikelihoodRatio(counts.toReversed(), pairs, { model, bounds: [-high, -low] });
        expect(Math.abs(back.llr + there.llr)).toBeLessThan(1e-6 * Math.max(1, Math.abs(there.llr)));
        expect(back.deviationPerBlock).toBeCloseTo(there.deviationPerBlock, 5);
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  it("grows in step with the blocks", () => {
    fc.assert(
      fc.property(someCounts, someModel, fc.integer({ min: 2, max: 50 }), (counts, model, times) => {
        const full = counts.map((count) => count + 1);
        const once = logLikelihoodRatio(full, pairs, { model, bounds: [0, 30] }).llr;
        const many = logLikelihoodRatio(
          full.map((count) => times * count),
          pairs,
          { model, bounds: [0, 30] },
        ).llr;
        expect(Math.abs(many - times * once)).toBeLessThan(1e-6 * Math.max(1, Math.abs(many)));
      }),
      { seed: 4, numRuns: 200 },
    );
  });

  it("rises with a block won throughout and falls with a block lost throughout", () => {
    fc.assert(
      fc.property(someCounts, someBounds, (counts, bounds) => {
        const llr = (more: readonly number[]) =>
          logLikelihoodRatio(
            counts.map((count, cell) => 1 + count + more[cell]!),
            pairs,
            { model: "logistic", bounds },
          ).llr;
        expect(llr([0, 0, 0, 0, 1])).toBeGreaterThan(llr([0, 0, 0, 0, 0]));
        expect(llr([1, 0, 0, 0, 0])).toBeLessThan(llr([0, 0, 0, 0, 0]));
      }),
      { seed: 5, numRuns: 200 },
    );
  });

  it("is finite for a single cell, whichever it is", () => {
    for (const model of ["logistic", "normalized"] as const)
      for (const blocks of [pairs, winBlocks(3), winBlocks(4), drawBlocks(4)])
        for (const cell of blocks.scores.keys()) {
          const counts = blocks.scores.map((_, i) => (i === cell ? 100 : 0));
          const { llr } = logLikelihoodRatio(counts, blocks, { model, bounds: [0, 50] });
          expect(Number.isFinite(llr)).toBe(true);
          if (blocks.scores[cell] !== blocks.reference)
            expect(Math.sign(llr)).toBe(Math.sign(blocks.scores[cell]! - blocks.reference));
        }
  });
});

describe("the decision", () => {
  it("is to promote, to reject, or to go on", () => {
    expect(sprt([0, 0, 3, 5, 22], pairs, plan).decision).toBe("promote");
    expect(sprt([22, 5, 3, 0, 0], pairs, plan).decision).toBe("reject");
    expect(sprt([2, 3, 5, 3, 2], pairs, plan).decision).toBe("continue");
  });

  it("is inconclusive at the cap, and only there", () => {
    const even = [20, 20, 20, 30, 30];
    expect(sprt(even, pairs, { ...plan, capBlocks: 121 }).decision).toBe("continue");
    expect(sprt(even, pairs, { ...plan, capBlocks: 120 }).decision).toBe("inconclusive");
    expect(sprt([0, 0, 20, 40, 60], pairs, { ...plan, capBlocks: 120 }).decision).toBe("promote");
  });

  it("waits for a whole batch", () => {
    const counts = [0, 0, 3, 5, 22];
    expect(sprt(counts, pairs, { ...plan, batchBlocks: 8 }).decision).toBe("continue");
    expect(sprt([0, 0, 3, 7, 22], pairs, { ...plan, batchBlocks: 8 }).decision).toBe("promote");
  });

  it("is withheld when more than half of the positions are repeats", () => {
    const counts = [0, 0, 3, 5, 22];
    expect(sprt(counts, pairs, plan, 0.5).decision).toBe("promote");
    expect(sprt(counts, pairs, plan, 0.51)).toMatchObject({ decision: "continue", redundancy: 0.51 });
    expect(sprt(counts, pairs, { ...plan, capBlocks: 30 }, 0.51).decision).toBe("inconclusive");
    expect(sprt(counts, pairs, plan, 0.51).reason).toContain("51.0 %");
  });

  it("stops inside Wald's bounds by the overshoot, which grows with the batch and never takes more than half", () => {
    const look = (batchBlocks: number) => sprt([50, 80, 120, 90, 60], pairs, { ...plan, batchBlocks });
    expect(look(1).upper).toBeCloseTo(Math.log(19), 12);
    expect(look(1).lower).toBeCloseTo(-Math.log(19), 12);
    const drawn = (batchBlocks: number) => look(batchBlocks).upper - look(batchBlocks).stopUpper;
    expect(drawn(1)).toBeGreaterThan(0.1);
    expect(drawn(16)).toBeCloseTo(4 * drawn(1), 10);
    expect(drawn(400)).toBeCloseTo(Math.log(19) / 2, 10);
    expect(look(16).stopLower).toBeCloseTo(-look(16).stopUpper, 10);
  });

  it("refuses plans and inputs that make no sense, each with its code", () => {
    const look = (over: Partial<Record<keyof SprtPlan, unknown>>) => () =>
      sprt([1, 1, 1, 1, 1], pairs, { ...plan, ...over } as SprtPlan);
    expect(codeOf(look({ bounds: [5, 5] }))).toBe("INVALID_BOUNDS");
    expect(codeOf(look({ bounds: [5, 1] }))).toBe("INVALID_BOUNDS");
    expect(codeOf(look({ bounds: [0, Number.NaN] }))).toBe("INVALID_BOUNDS");
    expect(codeOf(look({ bounds: [0] }))).toBe("INVALID_BOUNDS");
    expect(codeOf(look({ bounds: [0, 1e9] }))).toBe("INVALID_BOUNDS");
    expect(codeOf(look({ alpha: 0 }))).toBe("INVALID_ERROR_RATE");
    expect(codeOf(look({ beta: 0.5 }))).toBe("INVALID_ERROR_RATE");
    expect(codeOf(look({ batchBlocks: 0 }))).toBe("INVALID_BATCH");
    expect(codeOf(look({ capBlocks: 9, batchBlocks: 4 }))).toBe("INVALID_CAP");
    expect(codeOf(look({ model: "elo" }))).toBe("INVALID_MODEL");
    expect(codeOf(() => sprt([1, 1, 1, 1, 1], pairs, plan, 1.5))).toBe("INVALID_REDUNDANCY");
    expect(codeOf(() => sprt([1, 1, 1], pairs, plan))).toBe("INVALID_COUNTS");
    expect(codeOf(() => sprt([-1, 1, 1, 1, 1], pairs, plan))).toBe("INVALID_COUNTS");
  });
});

describe("the plan of a gate", () => {
  it("starts at [0, 50] with at most 400 blocks", () => {
    expect(gatePlan()).toMatchObject({ bounds: [0, 50], capBlocks: 400, model: "normalized" });
  });

  it("tightens towards [0, 20] as the last gains shrink, with room for the games that takes", () => {
    expect(gatePlan([200, 90, 40, 30, 20]).bounds).toEqual([0, 30]);
    expect(gatePlan([200, 5, 5, 5])).toMatchObject({ bounds: [0, 20], capBlocks: 2504 });
    expect(gatePlan([500]).bounds).toEqual([0, 50]);
    expect(codeOf(() => gatePlan([Number.NaN]))).toBe("INVALID_GAIN");
  });
});

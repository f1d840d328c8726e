import { describe, expect, it } from "vitest";
import { gatePlan } from "../../../test/support/gate-plan.ts";
import { onlyThorough } from "../../../test/support/thorough.ts";
import { seededRandom } from "../../kernel/index.ts";
import { type BlockShape, drawBlocks, winBlocks } from "./block.ts";
import { estimateElo } from "./elo.ts";
import { eloAfterStopping } from "./elo-after-stopping.ts";
import { simulateGate } from "./simulated-blocks.ts";
import { sprt } from "./sprt.ts";
import type { EloModel } from "./sprt-plan.ts";

const pairs = drawBlocks(2);
const plan = gatePlan();

describe("Elo after stopping", () => {
  it("lies below the plain estimate of a promoted candidate and above that of a rejected one", () => {
    // A late stop: the walk wandered for long before it left.
    const promoted = [36, 0, 88, 0, 60];
    const rejected = [45, 0, 90, 0, 49];
    expect(sprt(promoted, pairs, plan).decision).toBe("promote");
    expect(sprt(rejected, pairs, plan).decision).toBe("reject");
    expect(eloAfterStopping(promoted, pairs, plan).elo.estimate).toBeLessThan(
      estimateElo(promoted, pairs).elo.estimate,
    );
    expect(eloAfterStopping(rejected, pairs, plan).elo.estimate).toBeGreaterThan(
      estimateElo(rejected, pairs).elo.estimate,
    );
  });

  it("is nearly the plain one when the test could not have stopped before", () => {
    const counts = [1, 0, 3, 0, 4];
    const plain = estimateElo(counts, pairs);
    const stopped = eloAfterStopping(counts, pairs, plan);
    expect(stopped.method).toBe("sequential");
    expect(stopped.elo.estimate).toBeCloseTo(plain.elo.estimate, 6);
  });

  it("stays finite where everything was won, or almost", () => {
    for (const counts of [
      [0, 0, 0, 0, 16],
      [0, 0, 0, 1, 15],
      [0, 0, 1, 0, 23],
      [16, 0, 0, 0, 0],
      [0, 0, 400, 0, 0],
    ]) {
      const { elo } = eloAfterStopping(counts, pairs, plan);
      expect([elo.low, elo.estimate, elo.high].every(Number.isFinite)).toBe(true);
      expect(elo.low).toBeLessThan(elo.estimate);
      expect(elo.estimate).toBeLessThan(elo.high);
    }
  });

  it("copes with a long test that is looked at after every block", () => {
    const counts = [10789, 19328, 33806, 19402, 10543];
    const long = { ...plan, model: "logistic", bounds: [-3, 1], batchBlocks: 1, capBlocks: 100_000 } as const;
    const { elo } = eloAfterStopping(counts, pairs, long);
    expect(elo.low).toBeLessThan(elo.estimate);
    expect(elo.high - elo.low).toBeLessThan(6);
  });

  it("is the plain one for results that the test would have ended long before", () => {
    for (const counts of [
      [0, 10, 1_000_000, 10, 0],
      [1000, 0, 0, 0, 9000],
      [9000, 1, 0, 0, 1000],
    ]) {
      const late = eloAfterStopping(counts, pairs, { ...plan, model: "logistic", capBlocks: 2_000_000 });
      expect(late.method).toBe("fixed");
      expect(late.elo).toEqual(estimateElo(counts, pairs).elo);
    }
  });
});

describe("Elo after stopping, over simulated gates", () => {
  const study = (blocks: BlockShape, elo: number, model: EloModel, seed: number) => {
    const random = seededRandom(seed);
    const gate = { ...plan, model };
    const runs = 1000;
    let below = 0;
    let covered = 0;
    let plainBelow = 0;
    let plainCovered = 0;
    for (let run = 0; run < runs; run += 1) {
      const { counts } = simulateGate({ blocks, elo, drawShare: 0, seatElo: 0 }, gate, random);
      const stopped = eloAfterStopping(counts, blocks, gate);
      const plain = estimateElo(counts, blocks);
      if (stopped.elo.estimate < elo) below += 1;
      if (stopped.elo.low <= elo && elo <= stopped.elo.high) covered += 1;
      if (plain.elo.estimate < elo) plainBelow += 1;
      if (plain.elo.low <= elo && elo <= plain.elo.high) plainCovered += 1;
    }
    return {
      below: below / runs,
      covered: covered / runs,
      plainBelow: plainBelow / runs,
      plainCovered: plainCovered / runs,
    };
  };
  it.each([
    [pairs, 100, "logistic"],
    [winBlocks(4), 0, "normalized"],
    ...onlyThorough([
      [pairs, 0, "normalized"],
      [pairs, 50, "normalized"],
      [winBlocks(3), 50, "logistic"],
    ] as const),
  ] as const)("is as often too high as too low, and its interval covers (%#)", (blocks, elo, model) => {
    const { below, covered } = study(blocks, elo, model, 7);
    // 1000 gates know a half to within 4.7 % and 95 % to within 2.1 %, three standard deviations each.
    expect(Math.abs(below - 0.5)).toBeLessThan(0.05);
    expect(covered).toBeGreaterThan(0.928);
    expect(covered).toBeLessThan(0.972);
  });

  it("mends what is wrong with the plain estimate", () => {
    const { below, plainBelow, covered, plainCovered } = study(pairs, 50, "normalized", 9);
    expect(plainBelow).toBeLessThan(0.44);
    expect(plainCovered).toBeLessThan(0.92);
    expect(Math.abs(below - 0.5)).toBeLessThan(Math.abs(plainBelow - 0.5));
    expect(covered).toBeGreaterThan(plainCovered);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOperatingError, seededRandom } from "../../kernel/index.ts";
import { type BlockShape, drawBlocks, shapeOfCounts, singleGames, winBlocks } from "./block.ts";
import { eloOfScore, estimateElo, normalizedEloOfT, scoreOfElo, tOfNormalizedElo } from "./elo.ts";
import { type SimulatedMatch, simulateBlocks } from "./simulated-blocks.ts";

const pairs = drawBlocks(2);

describe("Elo scales", () => {
  it("turn scores into Elo and back, for two to four players", () => {
    expect(scoreOfElo(0, 4)).toBe(0.25);
    expect(scoreOfElo(100)).toBeCloseTo(0.6400649998028851, 14);
    expect(eloOfScore(0.75)).toBeCloseTo(190.84850188786498, 11);
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 4 }), fc.double({ min: -1500, max: 1500, noNaN: true }), (players, elo) => {
        expect(eloOfScore(scoreOfElo(elo, players), players)).toBeCloseTo(elo, 5);
      }),
    );
  });

  it("give a pair the t-value sqrt(2) * e * ln(10) / 800", () => {
    expect(tOfNormalizedElo(50, pairs)).toBeCloseTo((Math.SQRT2 * 50 * Math.LN10) / 800, 14);
    expect(normalizedEloOfT(tOfNormalizedElo(37, winBlocks(4)), winBlocks(4))).toBeCloseTo(37, 12);
  });

  it("agree for small differences between players who never draw", () => {
    for (const shape of [winBlocks(2), winBlocks(3), winBlocks(4)]) {
      const score = scoreOfElo(1, shape.players);
      const deviation = Math.sqrt((score * (1 - score)) / shape.gamesPerBlock);
      expect(normalizedEloOfT((score - shape.reference) / deviation, shape)).toBeCloseTo(1, 2);
    }
  });

  it("refuse what has no Elo", () => {
    for (const score of [0, 1, -1, Number.NaN]) expect(() => eloOfScore(score)).toThrow("A score with a finite Elo");
    expect(() => scoreOfElo(Number.POSITIVE_INFINITY)).toThrow("finite");
  });
});

describe("Elo with an interval", () => {
  it("is -43.6578 +- 29.427 for 13, 37, 50, 25, 3", () => {
    const { elo, halfWidth, blocks, games } = estimateElo([13, 37, 50, 25, 3], pairs);
    expect(elo.estimate).toBeCloseTo(-43.6578, 4);
    expect(halfWidth).toBeCloseTo(29.427, 3);
    expect([blocks, games]).toEqual([128, 256]);
  });

  it("negates when the sides are swapped", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300), { minLength: 5, maxLength: 5 }), (counts) => {
        fc.pre(counts.some((count) => count > 0));
        const there = estimateElo(counts, pairs);
        const back = estimateElo(counts.toReversed(), pairs);
        expect(back.elo.estimate).toBeCloseTo(-there.elo.estimate, 6);
        expect(back.elo.low).toBeCloseTo(-there.elo.high, 6);
        expect(back.normalizedElo.low).toBeCloseTo(-there.normalizedElo.high, 6);
        expect(back.superiority).toBeCloseTo(1 - there.superiority, 9);
      }),
    );
  });

  it("keeps its estimate and halves its width when four times as many blocks say the same", () => {
    const once = estimateElo([13, 37, 50, 25, 3], pairs);
    const more = estimateElo([52, 148, 200, 100, 12], pairs);
    expect(more.elo.estimate).toBeCloseTo(once.elo.estimate, 10);
    expect(once.halfWidth / more.halfWidth).toBeCloseTo(2, 1);
  });

  it("stays finite and honest for all wins, all draws, one block and one cell", () => {
    for (const [players, counts] of [
      [2, [0, 0, 0, 0, 30]],
      [2, [30, 0, 0, 0, 0]],
      [2, [0, 0, 30, 0, 0]],
      [2, [0, 0, 0, 0, 1]],
      [2, [0, 0, 0, 1, 29]],
      [3, [30, 0, 0, 0]],
      [4, [0, 0, 0, 0, 5]],
    ] as const) {
      const shape = shapeOfCounts(players, counts.length);
      const { elo, normalizedElo, method, halfWidth } = estimateElo(counts, shape);
      expect(method).toBe("posterior");
      for (const { low, estimate, high } of [elo, normalizedElo]) {
        expect([low, estimate, high].every(Number.isFinite)).toBe(true);
        expect(low).toBeLessThan(estimate);
        expect(estimate).toBeLessThan(high);
      }
      expect(halfWidth).toBeGreaterThan(1);
    }
    expect(estimateElo([0, 0, 0, 0, 30], pairs).elo.low).toBeGreaterThan(100);
    expect(estimateElo([0, 0, 0, 0, 30], pairs).normalizedElo.low).toBeGreaterThan(100);
  });

  it("refuses bad counts and a confidence that is none", () => {
    const code = (run: () => unknown) => {
      try {
        run();
      } catch (thrown) {
        return isOperatingError(thrown) ? thrown.code : "untyped";
      }
      return "none";
    };
    expect(code(() => estimateElo([0, 0, 0, 0, 0], pairs))).toBe("INVALID_COUNTS");
    expect(code(() => estimateElo([1, 2, 3], pairs))).toBe("INVALID_COUNTS");
    for (const confidence of [0, 1, 95, Number.NaN])
      expect(code(() => estimateElo([1, 1, 1, 1, 1], pairs, confidence))).toBe("INVALID_CONFIDENCE");
  });
});

describe("the interval, over simulated matches", () => {
  const coverage = (match: SimulatedMatch, truth: number, blocks: number, confidence: number, seed: number) => {
    const random = seededRandom(seed);
    const runs = 2000;
    let covered = 0;
    for (let run = 0; run < runs; run += 1) {
      const { elo } = estimateElo(simulateBlocks(match, blocks, random), match.blocks, confidence);
      if (elo.low <= truth && truth <= elo.high) covered += 1;
    }
    return covered / runs;
  };
  const cases: [string, BlockShape, number, number][] = [
    ["two players", pairs, 0, 60],
    ["two players", pairs, 150, 60],
    ["three players", winBlocks(3), 50, 60],
    ["four players", winBlocks(4), -80, 60],
    ["single games", singleGames(), 30, 200],
  ];
  it.each(cases)("covers the truth of %s at its stated rate (%#)", (_name, blocks, elo, count) => {
    const match = { blocks, elo, drawShare: 0, seatElo: 0 };
    // 2000 runs know a coverage of 95 % to within 1.5 %, three standard deviations.
    expect(coverage(match, elo, count, 0.95, 11)).toBeGreaterThan(0.93);
    expect(coverage(match, elo, count, 0.95, 11)).toBeLessThan(0.97);
    expect(coverage(match, elo, count, 0.8, 12)).toBeGreaterThan(0.77);
    expect(coverage(match, elo, count, 0.8, 12)).toBeLessThan(0.83);
  });

  it.each([
    [200, 16],
    [500, 16],
    [500, 30],
    [700, 100],
  ])("does not fail for lopsided matches (%i Elo, %i pairs)", (elo, count) => {
    const covered = coverage({ blocks: pairs, elo, drawShare: 0, seatElo: 0 }, elo, count, 0.95, 13);
    expect(covered).toBeGreaterThan(0.91);
  });

  it("is narrower for pairs than for single games when openings favour a seat", () => {
    const tilted = { elo: 0, drawShare: 0, seatElo: 800 };
    const paired = estimateElo(simulateBlocks({ blocks: pairs, ...tilted }, 1000, seededRandom(5)), pairs);
    const [ll, ld, dd, wd, ww] = simulateBlocks({ blocks: pairs, ...tilted }, 1000, seededRandom(5));
    // The same games, forgetting which belong together: without draws the middle cell is a win and a loss.
    expect(ld! + wd!).toBe(0);
    const loose = estimateElo([2 * ll! + dd!, 0, 2 * ww! + dd!], singleGames());
    expect(loose.elo.estimate).toBeCloseTo(paired.elo.estimate, 10);
    expect(paired.halfWidth).toBeLessThan(0.9 * loose.halfWidth);
  });

  it("has a normalized twin that covers, too", () => {
    const random = seededRandom(21);
    const match = { blocks: pairs, elo: 60, drawShare: 0, seatElo: 0 };
    const score = scoreOfElo(60);
    const truth = normalizedEloOfT((score - 0.5) / Math.sqrt((score * (1 - score)) / 2), pairs);
    let covered = 0;
    for (let run = 0; run < 2000; run += 1) {
      const { normalizedElo } = estimateElo(simulateBlocks(match, 80, random), pairs);
      if (normalizedElo.low <= truth && truth <= normalizedElo.high) covered += 1;
    }
    expect(covered / 2000).toBeGreaterThan(0.93);
    expect(covered / 2000).toBeLessThan(0.97);
  });
});

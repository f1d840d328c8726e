import { describe, expect, it } from "vitest";
import { rounds } from "../../../test/support/thorough.ts";
import { seededRandom } from "../../kernel/index.ts";
import { evidenceOfMastery, isMastered } from "./mastery.ts";

const RULE = { pairs: 64, error: 0.01 };

/** Pairs until the opponent is called mastered, looked at after each; undefined if it never is. */
function pairsUntil(seed: number, strength: number, draws: number, most: number): number | undefined {
  const random = seededRandom(seed);
  const game = () => (random.next() < draws ? 0.5 : random.next() < strength ? 1 : 0);
  let score = 0;
  for (let pairs = 1; pairs <= most; pairs += 1) {
    score += (game() + game()) / 2;
    if (isMastered(pairs, score, RULE)) return pairs;
  }
  return undefined;
}
const shareOf = (strength: number, draws: number, most: number, seeds: number) =>
  Array.from({ length: seeds }, (_, n) => pairsUntil(n + 1, strength, draws, most)).filter((at) => at !== undefined)
    .length / seeds;

describe("an opponent", () => {
  it.each([0, 0.4])(
    "that is as strong is called mastered in at most 1 %% of runs of 400 looks, with %d draws",
    (draws) => {
      const seeds = rounds(400, 5_000);
      expect(shareOf(0.5, draws, 400, seeds)).toBeLessThanOrEqual(0.01 + 3 * Math.sqrt((0.01 * 0.99) / seeds));
    },
  );

  it("that is 150 Elo weaker is found to be mastered within 200 pairs", () => {
    expect(shareOf(0.7, 0, 200, 200)).toBeGreaterThan(0.95);
  });

  it("needs enough pairs, however clear they are", () => {
    expect(isMastered(63, 63, RULE)).toBe(false);
    expect(isMastered(64, 64, RULE)).toBe(true);
    expect(isMastered(64, 32, RULE)).toBe(false);
    expect(evidenceOfMastery(0, 0)).toBeCloseTo(1, 10);
    expect(evidenceOfMastery(1_000, 900)).toBeGreaterThan(1e50);
    expect(evidenceOfMastery(1_000, 100)).toBeLessThan(0.01);
  });

  it.each([
    [-1, 0],
    [10, 11],
    [10, Number.NaN],
    [1.5, 1],
  ])("with %d pairs and a score of %d is refused with a code", (pairs, score) => {
    expect(() => isMastered(pairs, score, RULE)).toThrow(expect.objectContaining({ code: "INVALID_MASTERY" }));
    expect(() => isMastered(100, 50, { ...RULE, error: 0 })).toThrow(
      expect.objectContaining({ code: "INVALID_MASTERY" }),
    );
  });
});

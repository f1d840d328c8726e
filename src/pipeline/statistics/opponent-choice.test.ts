import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OPPONENT_POLICY, opponentShares } from "./opponent-choice.ts";

const record = (opponent: string, wins: number, draws: number, losses: number) => ({ opponent, wins, draws, losses });
const shareOf = (shares: ReturnType<typeof opponentShares>, name: string) =>
  shares.opponents.find(({ opponent }) => opponent === name)!.share;

describe("the choice of opponents", () => {
  it("prefers those that beat us, or those that are our equals", () => {
    const records = [record("easy", 90, 0, 10), record("even", 50, 0, 50), record("hard", 10, 0, 90)];
    const hard = opponentShares(records);
    expect(shareOf(hard, "hard")).toBeGreaterThan(shareOf(hard, "even"));
    expect(shareOf(hard, "even")).toBeGreaterThan(shareOf(hard, "easy"));
    const even = opponentShares(records, { ...OPPONENT_POLICY, weighting: "even" });
    expect(shareOf(even, "even")).toBeGreaterThan(shareOf(even, "hard"));
    expect(shareOf(even, "hard")).toBeCloseTo(shareOf(even, "easy"), 12);
  });

  it("has the closed form (1 - x)^2 and x * (1 - x) once an opponent is known well", () => {
    const records = [record("a", 700_000, 0, 300_000), record("b", 400_000, 0, 600_000)];
    const policy = { ...OPPONENT_POLICY, floor: 0, selfPlayShare: 0 };
    expect(shareOf(opponentShares(records, policy), "a")).toBeCloseTo(0.09 / (0.09 + 0.36), 4);
    expect(shareOf(opponentShares(records, { ...policy, weighting: "even" }), "a")).toBeCloseTo(
      0.21 / (0.21 + 0.24),
      4,
    );
  });

  it("adds up to one, with the fixed share of self-play and the floor for each, for any records", () => {
    const counts = fc.tuple(fc.nat(2000), fc.nat(2000), fc.nat(2000));
    fc.assert(
      fc.property(
        fc.array(counts, { minLength: 1, maxLength: 150 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (rows, share) => {
          const records = rows.map(([wins, draws, losses], i) => record(`o${i}`, wins, draws, losses));
          const { selfPlay, opponents } = opponentShares(records, { ...OPPONENT_POLICY, selfPlayShare: share });
          expect(opponents.reduce((sum, o) => sum + o.share, selfPlay)).toBeCloseTo(1, 9);
          const floor = (1 - share) * Math.min(0.01, 1 / records.length);
          for (const o of opponents) expect(o.share).toBeGreaterThanOrEqual(floor - 1e-12);
        },
      ),
    );
  });

  it("keeps a newcomer in play after a few lucky wins", () => {
    const shares = opponentShares([record("new", 3, 0, 0), record("beaten", 300, 0, 0)], {
      ...OPPONENT_POLICY,
      floor: 0,
    });
    expect(shareOf(shares, "new")).toBeGreaterThan(50 * shareOf(shares, "beaten"));
  });

  it("is pure self-play without opponents", () => {
    expect(opponentShares([])).toEqual({ selfPlay: 1, opponents: [] });
  });

  it("refuses broken records and policies", () => {
    expect(() => opponentShares([record("a", -1, 0, 0)])).toThrow("whole number");
    expect(() => opponentShares([record("a", 1, 0, 0), record("a", 1, 0, 0)])).toThrow("two records");
    expect(() => opponentShares([], { ...OPPONENT_POLICY, floor: 2 })).toThrow("floor");
    expect(() => opponentShares([], { ...OPPONENT_POLICY, power: -1 })).toThrow("negative");
    expect(() => opponentShares([], { ...OPPONENT_POLICY, weighting: "soft" as "hard" })).toThrow("hard or even");
  });
});

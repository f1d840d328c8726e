import { describe, expect, it } from "vitest";
import { type GateWord, growthOf, judgeGates, oneAnIteration, strengths } from "./gates.ts";

const gate = (iteration: number, elo: number, isPromoted = elo > 25, error = 20): GateWord => ({
  ...{ iteration, attempt: 1, elo, elo_low: elo - 1.96 * error, elo_high: elo + 1.96 * error, at: iteration * 1_000 },
  ...{ elo1: 50, games: 20, candidate: `m${iteration}`, opponent: "m0" },
  verdict: isPromoted ? "promote" : "reject",
});

describe("the strength of candidates", () => {
  it("is that of their gate upon what the champions before them gained", () => {
    const found = strengths([gate(3, 5), gate(1, 40), gate(2, -3), gate(4, 60), gate(5, 1)]);
    expect(found.map(({ value }) => value)).toEqual([40, 37, 45, 100, 101]);
    expect(found[0]).toMatchObject({ iteration: 1, at: 1_000 });
    expect(found[0]!.error).toBeCloseTo(20, 3);
  });

  it("takes the last word on an iteration, and leaves out numbers that are none", () => {
    const again = { ...gate(2, 90), attempt: 2 };
    expect(strengths([gate(1, 10), again, gate(2, 30)]).map(({ value }) => value)).toEqual([10, 90]);
    expect(strengths([gate(1, Number.NaN), gate(2, 30)])).toHaveLength(1);
    expect(oneAnIteration([again, gate(2, 30)])).toEqual([again]);
  });

  it("grows by what each gained over its champion, for each iteration between them", () => {
    const of = (iteration: number, elo: number, opponent: string) => ({ ...gate(iteration, elo), opponent });
    // Twenty an iteration: against the first, then against the third.
    const steady = [of(1, 20, "m0"), of(2, 40, "m0"), of(3, 60, "m0"), of(4, 20, "m3"), of(5, 40, "m3")];
    expect(growthOf(steady)).toMatchObject({ points: 5, plateau: false, trend: "improving" });
    expect(growthOf(steady)!.slope.estimate).toBeCloseTo(20, 10);
    // A champion of before came back: what is measured against it is measured over more iterations.
    expect(growthOf([...steady, of(6, 80, "m2")])!.slope.estimate).toBeCloseTo(20, 10);
    expect(growthOf(steady.slice(0, 3))).toBeUndefined();
    const still = Array.from({ length: 12 }, (_, n) => of(n + 1, 0, "m0"));
    expect(growthOf(still)).toMatchObject({ plateau: true });
    expect(growthOf(still.slice(1))).toMatchObject({ plateau: false });
  });
});

describe("a gate", () => {
  const words = (gates: readonly GateWord[]) =>
    judgeGates(gates).map(({ strength, weakInARow }) => [strength, weakInARow]);

  it("is strong, weak or even, and weak ones are counted in a row", () => {
    const inconclusive = { ...gate(5, 10), verdict: "inconclusive" } as const;
    expect(words([gate(1, 60), gate(2, 30), gate(3, -10), gate(4, -5), inconclusive, gate(6, 1), gate(7, 40)])).toEqual(
      [
        ["strong", 0],
        ["even", 0],
        ["weak", 1],
        ["weak", 2],
        ["even", 2],
        ["weak", 3],
        ["even", 0],
      ],
    );
  });

  it("opens a harder tier when a plateau is found, once for each plateau, and keeps its word whatever comes later", () => {
    const still = Array.from({ length: 14 }, (_, n) => gate(n + 1, 0));
    const judged = judgeGates(still);
    expect(judged.map(({ tier }) => tier)).toEqual([...Array(11).fill(0), 1, 1, 1]);
    const grown = Array.from({ length: 10 }, (_, n) => ({ ...gate(15 + n, 90), opponent: `m${14 + n}` }));
    const more = judgeGates([...still, ...grown]);
    expect(more.slice(0, 14)).toEqual(judged);
    expect(more.at(-1)).toMatchObject({ tier: 1, isPlateau: false, strength: "strong" });
    expect(judgeGates([])).toEqual([]);
  });
});

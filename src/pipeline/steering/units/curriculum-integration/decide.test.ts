import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Gain, isOtherWeight, type Learning, speedOf, weigh, weightWords } from "./decide.ts";

const gain = (elo: number, kept = true, halfWidth = 20): Gain => ({
  elo,
  low: elo - halfWidth,
  high: elo + halfWidth,
  kept,
});
const learning = (name: string, gains: readonly Gain[], games = 1_000): Learning => ({
  configKey: `${name}_2p`,
  games,
  gains,
});
const weightsOf = (...all: readonly Learning[]) => weigh(all).map(({ weight }) => weight);

describe("the speed of learning", () => {
  it("is Elo for 1,000 games over the last gates, and nothing before two have ended", () => {
    expect(speedOf(learning("a", []))).toBeUndefined();
    expect(speedOf(learning("a", [gain(50)]))).toBeUndefined();
    expect(speedOf(learning("a", [gain(40), gain(60)]))).toMatchObject({ velocity: 50, gates: 2 });
    expect(speedOf(learning("a", [gain(40), gain(60)], 500))).toMatchObject({ velocity: 100 });
  });

  it("counts what was rejected or withdrawn as no gain", () => {
    expect(speedOf(learning("a", [gain(80), gain(80, false)]))?.velocity).toBe(40);
  });

  it("forgets what is long ago", () => {
    const old = Array.from({ length: 20 }, () => gain(500));
    const flat = Array.from({ length: 8 }, () => gain(0, false));
    expect(speedOf(learning("a", [...old, ...flat]))?.velocity).toBe(0);
  });

  it("leaves out numbers that are none", () => {
    expect(speedOf(learning("a", [gain(Number.NaN), gain(40), gain(60)]))?.gates).toBe(2);
    expect(speedOf(learning("a", [gain(40), gain(60)], 0))).toBeUndefined();
  });
});

describe("weights", () => {
  it("are 1 for one config alone, and for configs that nothing tells apart", () => {
    expect(weightsOf(learning("a", [gain(40), gain(60)]))).toEqual([1]);
    expect(weightsOf(learning("a", [gain(40), gain(60)]), learning("b", [gain(40), gain(60)]))).toEqual([1, 1]);
    expect(weightsOf(learning("a", []), learning("b", []))).toEqual([1, 1]);
  });

  it("give more to what learns faster, and less to what stands still", () => {
    const [fast, flat] = weightsOf(
      learning("fast", [gain(80), gain(100), gain(90)]),
      learning("flat", [gain(0, false), gain(-5, false), gain(3, false)]),
    );
    expect(fast).toBeGreaterThan(1.5);
    expect(flat).toBe(0.5);
  });

  it("give more to what is less known, at the same speed", () => {
    const [sure, unsure] = weightsOf(
      learning("sure", [gain(40, true, 5), gain(40, true, 5)]),
      learning("unsure", [gain(40, true, 200), gain(40, true, 200)]),
    );
    expect(unsure).toBeGreaterThan(sure!);
  });

  it("stay between a half and two under any storm of numbers, and never fall when a config gains more", () => {
    const anyGain = fc.record({ elo: fc.double(), low: fc.double(), high: fc.double(), kept: fc.boolean() });
    const config = fc.record({ games: fc.double(), gains: fc.array(anyGain, { maxLength: 12 }) });
    fc.assert(
      fc.property(fc.array(config, { minLength: 1, maxLength: 6 }), (configs) => {
        for (const { weight } of weigh(configs.map((each, n) => ({ configKey: `c${n}_2p`, ...each })))) {
          expect(weight).toBeGreaterThanOrEqual(0.5);
          expect(weight).toBeLessThanOrEqual(2);
        }
      }),
    );
    const elo = fc.integer({ min: 0, max: 300 });
    fc.assert(
      fc.property(elo, fc.integer({ min: 0, max: 300 }), elo, (own, more, other) => {
        const beside = learning("b", [gain(other), gain(other)]);
        const [before] = weightsOf(learning("a", [gain(own), gain(own)]), beside);
        const [after] = weightsOf(learning("a", [gain(own + more), gain(own + more)]), beside);
        expect(after).toBeGreaterThanOrEqual(before!);
      }),
    );
  });

  it("are told when they moved by more than a tenth, with the reason in words", () => {
    expect(isOtherWeight(1, 1.09)).toBe(false);
    expect(isOtherWeight(1, 1.11)).toBe(true);
    expect(isOtherWeight(2, 1.7)).toBe(true);
    const [only] = weigh([learning("a", [gain(40), gain(60)])]);
    expect(weightWords(only!, 1)).toBe("50 Elo for 1,000 games, give or take 10, over 2 gates; the only config");
    expect(weightWords({ isSteered: true }, 2)).toBe("fewer than 2 gates have ended");
    const [own] = weigh([{ ...learning("a", []), gains: null }]);
    expect(own).toEqual({ configKey: "a_2p", isSteered: false, weight: 1 });
    expect(weightWords(own!, 2)).toBe("its plan does not let results turn its share");
  });
});

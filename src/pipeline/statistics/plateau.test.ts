import { describe, expect, it } from "vitest";
import { rounds } from "../../../test/support/thorough.ts";
import { seededRandom } from "../../kernel/index.ts";
import { judgeGrowth, judgeTrend, type MeasuredGrowth, type TrendPoint, type TrendRule } from "./plateau.ts";

const RULE: TrendRule = { window: 12, least: 8, confidence: 0.95 };

/** A normal variable, from two even ones. */
function noise(seed: number): () => number {
  const random = seededRandom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

const series = (seed: number, slope: number, deviation: number, told: number, points = 12): TrendPoint[] => {
  const next = noise(seed);
  return Array.from({ length: points }, (_, at) => ({ at, value: slope * at + deviation * next(), error: told }));
};
const calls = (slope: number, deviation: number, told: number, seeds: number) =>
  Array.from({ length: seeds }, (_, n) => judgeTrend(series(n + 1, slope, deviation, told), RULE)!).filter(
    ({ plateau }) => plateau,
  ).length / seeds;

const SEEDS = rounds(2_000, 20_000);
/** Three standard errors of a share of 5 %. */
const SLACK = 3 * Math.sqrt((0.05 * 0.95) / SEEDS);

describe("a plateau", () => {
  // 20 Elo is what a gate's estimate is uncertain by; a measure without known errors tells it by its scatter.
  it.each([
    ["known", 20],
    ["told by the scatter alone", 0],
  ])("is called falsely in at most 5 %% of windows of a measure that grows by the least, its error %s", (_, told) => {
    const share = calls(RULE.least, 20, told, SEEDS);
    expect(share).toBeLessThanOrEqual(0.05 + SLACK);
    expect(share).toBeGreaterThan(0.005);
    expect(calls(2 * RULE.least, 20, told, SEEDS)).toBeLessThan(0.001);
  });

  it("is found within one window of a flat measure", () => {
    expect(calls(0, 20, 20, SEEDS)).toBeGreaterThan(0.95);
    expect(calls(0, 15, 0, SEEDS)).toBeGreaterThan(0.95);
    expect(calls(-5, 20, 20, SEEDS)).toBeGreaterThan(0.99);
  });

  it("is not called before the window is full, nor while errors are too wide to say", () => {
    const flat = series(1, 0, 0, 1);
    expect(judgeTrend(flat.slice(1), RULE)).toMatchObject({ plateau: false, points: 11 });
    expect(judgeTrend(flat, RULE)).toMatchObject({ plateau: true, trend: "stable" });
    expect(calls(0, 60, 60, 200)).toBeLessThan(0.5);
    expect(judgeTrend(flat.slice(0, 3), RULE)).toBeUndefined();
    expect(judgeTrend(Array(12).fill(flat[0]), RULE)).toBeUndefined();
  });

  it("looks at the newest window alone", () => {
    const grown = series(1, 50, 0, 1, 20);
    const stood = series(2, 0, 0, 1).map(({ at, ...point }) => ({ ...point, value: 950, at: at + 20 }));
    expect(judgeTrend([...grown, ...stood], RULE)).toMatchObject({ plateau: true });
    expect(judgeTrend([...grown, ...stood.slice(0, 6)], RULE)).toMatchObject({ plateau: false, trend: "improving" });
    expect(judgeTrend(series(1, -50, 1, 1), RULE)).toMatchObject({ trend: "declining", plateau: true });
  });

  it.each([
    ["a value that is none", [{ at: 0, value: Number.NaN, error: 1 }], RULE, "INVALID_POINTS"],
    ["an error that is none", [{ at: 0, value: 1, error: Number.NaN }], RULE, "INVALID_TREND"],
    ["a negative error", [{ at: 0, value: 1, error: -1 }], RULE, "INVALID_TREND"],
    ["a window of three", [], { ...RULE, window: 3 }, "INVALID_TREND"],
    ["a growth that is none", [], { ...RULE, least: Number.NaN }, "INVALID_TREND"],
    ["a confidence of all", [], { ...RULE, confidence: 1 }, "INVALID_CONFIDENCE"],
  ])("is refused with a code for %s", (_, points, rule, code) => {
    const all = points.length === 0 ? series(1, 1, 1, 1) : [...series(1, 1, 1, 1), ...points];
    expect(() => judgeTrend(all, rule)).toThrow(expect.objectContaining({ code }));
  });
});

/** Candidates that gain `growth` an iteration, each measured against the champion of its time; who seems 33 Elo stronger is the next one. */
function gates(seed: number, growth: number, ofChampion = 0): MeasuredGrowth[] {
  const next = noise(seed);
  let champion = -ofChampion;
  return Array.from({ length: 12 }, (_, n) => {
    const lag = n + 1 - champion;
    const gain = growth * lag + 20 * next();
    const kept = gain > 33;
    if (kept) champion = n + 1;
    return { lag, gain, error: 20, kept };
  });
}

describe("a plateau of strength", () => {
  const found = (growth: number, ofChampion?: number) =>
    Array.from({ length: SEEDS }, (_, n) => judgeGrowth(gates(n + 1, growth, ofChampion), RULE)!).filter(
      ({ plateau }) => plateau,
    ).length / SEEDS;

  it("is called falsely in at most 5 % of windows while candidates grow by the least or more", () => {
    for (const growth of [RULE.least, 1.5 * RULE.least, 30])
      expect(found(growth), `${growth}`).toBeLessThanOrEqual(0.05 + SLACK);
  });

  it("is found within one window where they do not grow, though one gate in twenty promotes by luck", () => {
    expect(found(0)).toBeGreaterThan(0.95);
    expect(found(0, 10)).toBeGreaterThan(0.95);
  });

  it.each([
    ["a gain that is none", { lag: 1, gain: Number.NaN, error: 20, kept: false }],
    ["a candidate that is its own champion", { lag: 0, gain: 1, error: 20, kept: false }],
    ["an error of nothing", { lag: 1, gain: 1, error: 0, kept: false }],
  ])("is refused with a code for %s", (_, gain) => {
    expect(() => judgeGrowth([...gates(1, 1), gain], RULE)).toThrow(expect.objectContaining({ code: "INVALID_TREND" }));
  });

  it("ends with a leap, however long the rest before it was", () => {
    const rest = Array.from({ length: 12 }, (_, n) => ({ lag: n + 1, gain: 0, error: 20, kept: false }));
    expect(judgeGrowth(rest, RULE)).toMatchObject({ plateau: true });
    const leap = [13, 1, 1].map((lag) => ({ lag, gain: 60, error: 20, kept: true }));
    expect(judgeGrowth([...rest, ...leap], RULE)).toMatchObject({ plateau: false });
  });

  it("needs the whole window, and a few points to say anything", () => {
    const flat = gates(1, 0).map((each) => ({ ...each, gain: 0 }));
    expect(judgeGrowth(flat.slice(1), RULE)).toMatchObject({ plateau: false, points: 11 });
    expect(judgeGrowth(flat, RULE)).toMatchObject({ plateau: true, trend: "stable" });
    expect(judgeGrowth(flat.slice(0, 3), RULE)).toBeUndefined();
  });
});

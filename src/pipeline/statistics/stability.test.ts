import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawBlocks } from "./block.ts";
import { judgeRegression } from "./severity.ts";
import { type MeasuredGain, stabilityOf } from "./stability.ts";

const gain = (elo: number, half = 20): MeasuredGain => ({ elo, low: elo - half, high: elo + half });
const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const anyGain = fc.tuple(number(-400, 400), number(0, 200)).map(([elo, half]) => gain(elo, half));
const anyGains = fc.array(anyGain, { minLength: 4, maxLength: 20 });

describe("the stability of a config", () => {
  test("is unknown before four gates", () => {
    expect(stabilityOf([gain(1), gain(900), gain(1)])).toBeUndefined();
  });

  test("is full where gains differ by no more than their intervals explain", () => {
    expect(stabilityOf([gain(30), gain(38), gain(25), gain(33)])).toEqual({
      volatility: 0,
      level: "stable",
      weight: 1,
      gates: 4,
    });
  });

  test("falls where gains jump up and down, and rises again when they have been steady for long", () => {
    const wild = [gain(200), gain(-200), gain(200), gain(-200), gain(200)];
    expect(stabilityOf(wild)).toMatchObject({ level: "volatile" });
    expect(stabilityOf(wild)!.weight).toBeLessThan(0.7);
    expect(stabilityOf([...wild, ...Array.from({ length: 10 }, () => gain(30))])).toMatchObject({ weight: 1 });
  });

  test("lies within its bounds, and less of it never weighs more", () => {
    fc.assert(
      fc.property(anyGains, (gains) => {
        const { volatility, weight } = stabilityOf(gains)!;
        expect(volatility).toBeGreaterThanOrEqual(0);
        expect(volatility).toBeLessThanOrEqual(1);
        expect(weight).toBeGreaterThanOrEqual(0.5);
        expect(weight).toBeLessThanOrEqual(1);
      }),
    );
    fc.assert(
      fc.property(anyGains, anyGains, (a, b) => {
        const [first, second] = [stabilityOf(a)!, stabilityOf(b)!];
        if (first.volatility <= second.volatility) expect(first.weight).toBeGreaterThanOrEqual(second.weight);
      }),
    );
  });

  test("wider intervals never make it look wilder", () => {
    fc.assert(
      fc.property(fc.array(number(-400, 400), { minLength: 4, maxLength: 10 }), number(0, 100), (elos, half) => {
        const at = (width: number) => stabilityOf(elos.map((elo) => gain(elo, width)))!.volatility;
        expect(at(half * 2)).toBeLessThanOrEqual(at(half) + 1e-9);
      }),
    );
  });
});

describe("a verdict that weighs less", () => {
  const RANK = ["none", "minor", "moderate", "severe", "critical"];
  const pairs = drawBlocks(2);

  test("is never harder, and never says more than one that weighs in full", () => {
    const counts = fc
      .tuple(fc.nat(40), fc.nat(40), fc.nat(40), fc.nat(40), fc.nat(40))
      .filter((all) => all.some(Boolean));
    fc.assert(
      fc.property(counts, number(0.5, 1), (all, weight) => {
        const full = judgeRegression(all, pairs);
        const light = judgeRegression(all, pairs, weight);
        expect(RANK.indexOf(light.severity ?? "none")).toBeLessThanOrEqual(RANK.indexOf(full.severity ?? "none"));
        if (light.cleared) expect(full.cleared).toBe(true);
      }),
    );
  });

  test("needs more blocks and a surer sign", () => {
    expect(judgeRegression([16, 0, 0, 0, 0], pairs, 0.5)).not.toHaveProperty("severity");
    expect(judgeRegression([32, 0, 0, 0, 0], pairs, 0.5).severity).toBe("critical");
  });
});

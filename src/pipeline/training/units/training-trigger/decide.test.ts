import { describe, expect, test } from "vitest";
import { GATE_POLICY } from "../../limits.ts";
import { type GateFacts, type GateName, judgeGates, standsStill, waitsOf } from "./decide.ts";

const open: GateFacts = {
  now: 1_000_000,
  stageSince: 1_000_000,
  rows: 5_000,
  leastRows: 500,
  quality: { score: 0.8, band: "good" },
  isScored: true,
  uncheckedSegments: 0,
  allowPending: false,
  dataAgeMs: 10_000,
  lag: null,
  pressure: null,
  failuresInARow: 0,
  running: null,
};
const lacking = { node: "box", missing: 2, wanted: 5 };
const later = (ms: number) => ({ now: open.stageSince + ms });

describe("the gates of a training run", () => {
  test("all open: it goes", () => {
    expect(judgeGates(open)).toMatchObject({ verdict: "go" });
    expect(waitsOf(judgeGates(open).gates)).toEqual([]);
  });

  const cases: [why: string, facts: Partial<GateFacts>, verdict: "go" | "wait" | "skip", closed: GateName[]][] = [
    ["as many rows as it needs", { rows: 500 }, "go", []],
    ["one row too few, which no waiting mends", { rows: 499 }, "skip", ["rows"]],
    ["poor data", { quality: { score: 0.49, band: "poor" } }, "wait", ["quality"]],
    ["poor data for too long", { quality: { score: 0.49, band: "poor" }, ...later(300_000) }, "skip", ["quality"]],
    ["data that nobody scored yet", { quality: null }, "wait", ["quality"]],
    ["data that nobody scored for too long", { quality: null, ...later(300_000) }, "skip", ["quality"]],
    ["data that nobody ever scores", { quality: null, isScored: false }, "go", []],
    ["games that were not replayed", { uncheckedSegments: 2 }, "wait", ["parity"]],
    ["the same, when that is allowed", { uncheckedSegments: 2, allowPending: true }, "go", []],
    ["old data", { dataAgeMs: 25 * 3_600_000 }, "wait", ["data_age"]],
    ["old data, and nothing newer came", { dataAgeMs: 25 * 3_600_000, ...later(600_000) }, "go", []],
    ["data that no node has which trains", { lag: { state: "stale", ...lacking } }, "wait", ["node_data"]],
    ["the same, for a minute", { lag: { state: "relaxed", ...lacking } }, "go", []],
    ["evaluation that cannot keep up", { pressure: { on: true, depth: 80 } }, "wait", ["evaluation_pressure"]],
    ["evaluation that can", { pressure: { on: false, depth: 10 } }, "go", []],
    ["a run of the same config", { running: "a_2p:3:training:1" }, "wait", ["no_other_run"]],
    ["two failures before, at the trial", { failuresInARow: 2 }, "go", []],
    ["one gate for later and one for never", { rows: 0, running: "x" }, "skip", ["rows", "no_other_run"]],
  ];
  test.each(cases)("%s", (_why, facts, verdict, closed) => {
    const judged = judgeGates({ ...open, ...facts });
    expect(judged.verdict).toBe(verdict);
    expect(waitsOf(judged.gates).map((wait) => wait.for)).toEqual(closed);
  });

  test("each says what is there and what is asked for", () => {
    const { gates } = judgeGates({ ...open, rows: 12, quality: { score: 0.3, band: "poor" } });
    expect(gates.slice(0, 2)).toEqual([
      { gate: "rows", passed: false, actual: 12, required: 500, otherwise: "skip" },
      {
        gate: "quality",
        passed: false,
        actual: 0.3,
        required: GATE_POLICY.minQuality,
        otherwise: "wait",
      },
    ]);
  });
});

describe("training that learns nothing more", () => {
  const losses = (count: number, at: (n: number) => number | null) => Array.from({ length: count }, (_, n) => at(n));

  test("is one whose best loss has stopped falling over twelve runs", () => {
    expect(standsStill(losses(12, () => 1))).toMatch(/^the best loss of the last 6 runs is 1.000, and of those before/);
    expect(standsStill(losses(40, (n) => (n < 20 ? 2 - n / 20 : 1.005)))).toBeDefined();
    expect(standsStill(losses(12, (n) => 1 + n / 10))).toBeDefined();
  });

  test("is not said while it falls, of too few runs, or by numbers that are none", () => {
    expect(standsStill(losses(12, (n) => 1 - n / 100))).toBeUndefined();
    expect(standsStill(losses(11, () => 1))).toBeUndefined();
    expect(standsStill(losses(20, (n) => (n % 2 === 0 ? Number.NaN : 1)))).toBeUndefined();
    expect(standsStill(losses(14, (n) => (n < 3 ? null : 1)))).toBeUndefined();
  });
});

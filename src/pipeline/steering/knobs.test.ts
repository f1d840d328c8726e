import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CONTENT_KNOBS,
  drawnInputs,
  gamesWith,
  PLAY_KNOBS,
  signalIn,
  windowWith,
  withKnobs,
  withOpened,
} from "../stage/index.ts";
import type { JudgedGate } from "./gates.ts";
import { isSteered, judgeKnob } from "./knobs.ts";

const judged = (iteration: number, changes: Partial<JudgedGate> = {}): JudgedGate => ({
  ...{ iteration, at: iteration, strength: "even", weakInARow: 0, isPlateau: false, tier: 0 },
  ...{ candidate: `m${iteration}`, isPromoted: false, elo: 0, games: 20 },
  ...changes,
});
const weak = (iteration: number, weakInARow: number) => judged(iteration, { strength: "weak", weakInARow });
const factor = (knob: (typeof CONTENT_KNOBS)[number], gates: readonly JudgedGate[], iteration: number) => {
  const signal = judgeKnob(knob, gates);
  return signal === undefined ? 1 : signalIn(signal, iteration);
};

describe("a knob", () => {
  it("says nothing before a gate has spoken", () => {
    for (const knob of CONTENT_KNOBS) {
      expect(judgeKnob(knob, [])).toBeUndefined();
      expect(judgeKnob(knob, [judged(1), judged(2)])).toBeUndefined();
    }
  });

  it.each([
    ["exploration", [judged(1, { strength: "strong" })], 0.9],
    ["exploration", [judged(1, { strength: "strong", isPlateau: true })], 1.2],
    ["search", [judged(1, { isPlateau: true, tier: 1 })], 1.2],
    ["games", [weak(1, 1)], 1.2],
    ["learning_rate", [weak(1, 1)], 1],
    ["learning_rate", [weak(1, 1), weak(2, 2)], 0.8],
    ["opponents", [weak(1, 1)], 1.2],
    ["opponents", [judged(1, { strength: "strong" })], 0.9],
    ["positions", [judged(1, { isPlateau: true, tier: 1 })], 1.2],
    ["positions", [weak(1, 1)], 1],
    ["window", [weak(1, 1)], 1],
    ["window", [weak(1, 1), weak(2, 2)], 0.9],
  ] as const)("'%s' after the gates %o is %d", (knob, gates, expected) => {
    expect(factor(knob, gates, gates.at(-1)!.iteration + 1)).toBeCloseTo(expected, 10);
  });

  it("fades with iterations unless it is said again, by gates that say nothing and without gates alike", () => {
    const said = [weak(1, 1)];
    expect(factor("games", said, 6)).toBeCloseTo(Math.sqrt(1.2), 10);
    const quiet = [...said, judged(2), judged(3), judged(4), judged(5)];
    expect(factor("games", quiet, 6)).toBeCloseTo(factor("games", said, 6), 10);
    expect(factor("games", [...said, judged(40)], 41)).toBe(1);
  });

  it("stays within a half and two under any storm of gates, and is told with its evidence", () => {
    const any = fc.record({
      strength: fc.constantFrom("strong", "weak", "even"),
      weakInARow: fc.nat(50),
      isPlateau: fc.boolean(),
      tier: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 60 }), fc.nat(30), (gates, later) => {
        const all = gates.map((gate, n) => judged(n + 1, gate as Partial<JudgedGate>));
        for (const knob of CONTENT_KNOBS) {
          const now = factor(knob, all, all.length + 1 + later);
          expect(now).toBeGreaterThanOrEqual(0.5);
          expect(now).toBeLessThanOrEqual(2);
        }
      }),
    );
    const steady = Array.from({ length: 30 }, (_, n) => weak(n + 1, n + 1));
    expect(judgeKnob("games", steady)).toMatchObject({ value: 2, author: "gauntlet_feedback", iteration: 31 });
    expect(judgeKnob("games", steady)!.reason).toBe("16 weak gates, the last in iteration 30");
  });

  it("is off unless the plan says so, also in plans of before", () => {
    expect(isSteered({}, "games")).toBe(false);
    expect(isSteered({ steering: { games: true } as never }, "games")).toBe(true);
  });
});

describe("the parameters of a job", () => {
  const selfplay = { simulations: 48, temperature: 1, noise_weight: 0.25, format: "npz" };

  it("are multiplied by the knobs of the iteration, as far as the plan names them", () => {
    const knobs = { exploration: 1.5, search: 1.3, learning_rate: 0.5 };
    expect(withKnobs(selfplay, knobs, "exploration", "search")).toEqual({
      simulations: 62,
      temperature: 1.5,
      noise_weight: 0.375,
      format: "npz",
    });
    expect(withKnobs({ rate: 0.002 }, knobs, "learning_rate")).toEqual({ rate: 0.001 });
    expect(withKnobs({ noise_weight: 0.9 }, { exploration: 2 }, "exploration")).toEqual({ noise_weight: 1 });
    expect(withKnobs({ simulations: 1 }, { search: 0.5 }, "search")).toEqual({ simulations: 1 });
  });

  it("give shares of games that stay shares, and a window of whole rows", () => {
    const shares = { opponent_share: 0.6, archive_share: 0.2 };
    expect(withKnobs(shares, { opponents: 2, positions: 1.5 }, ...PLAY_KNOBS)).toEqual({
      opponent_share: 1,
      archive_share: 0.30000000000000004,
      // What EXPLORATION_ADJUSTED says of positions is what the games get.
      position_difficulty: "hard",
    });
    expect(withKnobs(shares, { positions: 1.2 }, ...PLAY_KNOBS)).toMatchObject({ position_difficulty: "medium-hard" });
    expect(withKnobs(shares, { positions: 0.8 }, ...PLAY_KNOBS)).not.toHaveProperty("position_difficulty");
    expect(withKnobs({ simulations: 4 }, { positions: 2 }, ...PLAY_KNOBS)).toEqual({ simulations: 4 });
    const own = { archive_share: 0.2, position_difficulty: "normal" };
    expect(withKnobs(own, { positions: 2 }, ...PLAY_KNOBS)).toEqual({ ...own, archive_share: 0.4 });
    const window = { base: 1_001, share: 0.6, most: 4_000 };
    expect(windowWith(window, undefined)).toEqual(window);
    expect(windowWith(window, { window: 0.5 })).toEqual({ base: 501, share: 0.3, most: 2_000 });
    expect(windowWith({ base: 1, share: 1, most: 1 }, { window: 2 })).toEqual({ base: 2, share: 1, most: 2 });
  });

  it("name the files that games draw on as inputs, in one order", () => {
    expect(drawnInputs()).toEqual([]);
    expect(drawnInputs({ files: { archive: ["a", "b"], opponent: "o" } })).toEqual([
      { name: "opponent", sha256: "o" },
      { name: "archive-0000", sha256: "a" },
      { name: "archive-0001", sha256: "b" },
    ]);
  });

  it("are left alone where nothing is said or nothing is there to multiply", () => {
    expect(withKnobs(selfplay, undefined, "exploration", "search")).toBe(selfplay);
    expect(withKnobs(selfplay, { games: 2 }, "exploration", "search")).toBe(selfplay);
    expect(withKnobs({ wide: 32 }, { exploration: 2 }, "exploration")).toEqual({ wide: 32 });
  });

  it("have games that follow their own knob, and an iteration keeps what it was opened with", () => {
    expect([gamesWith(160, undefined), gamesWith(160, { games: 1.2 }), gamesWith(1, { games: 0.5 })]).toEqual([
      160, 192, 1,
    ]);
    expect(withOpened({ 1: { games: 2 }, 900: {} }, 1_100, { search: 1.5 })).toEqual({
      900: {},
      1100: { search: 1.5 },
    });
  });
});

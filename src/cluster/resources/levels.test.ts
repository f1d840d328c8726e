import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  askedLevel,
  calm,
  type LevelState,
  levelDefaults,
  patientLevels,
  RESOURCE_LEVELS,
  stepLevel,
  thresholdOf,
} from "./levels.ts";

const limits = { high: 0.85, critical: 0.95 };
const run = (values: readonly number[], from: LevelState = calm) => {
  const levels: string[] = [];
  let state = from;
  for (const value of values) {
    state = stepLevel(state, value, limits, levelDefaults);
    levels.push(state.level);
  }
  return levels;
};

describe("the level of a resource", () => {
  test.each([
    ["one high sample is not believed", [0.9, 0.5], ["none", "none"]],
    ["two high samples in a row are", [0.9, 0.9], ["none", "high"]],
    ["one critical sample is enough", [0.96], ["critical"]],
    ["a value within the gap keeps the level", [0.9, 0.9, 0.82, 0.81], ["none", "high", "high", "high"]],
    ["two samples below the gap end it", [0.9, 0.9, 0.7, 0.7], ["none", "high", "high", "none"]],
    ["critical falls back to high, not to none", [0.96, 0.88, 0.88], ["critical", "critical", "high"]],
    ["of two different samples below, the nearer counts", [0.96, 0.1, 0.88], ["critical", "critical", "high"]],
    ["a spike between them begins the count anew", [0.9, 0.9, 0.7, 0.9, 0.7], ["none", "high", "high", "high", "high"]],
  ])("%s", (_what, values, levels) => {
    expect(run(values)).toEqual(levels);
  });

  test("that must last is not believed for a burst", () => {
    const patient = (values: readonly number[]) => {
      let state = calm;
      for (const value of values) state = stepLevel(state, value, limits, patientLevels);
      return state.level;
    };
    expect(patient(Array(7).fill(1))).toBe("none");
    expect(patient(Array(8).fill(1))).toBe("critical");
    expect(patient([...Array(7).fill(1), 0.9])).toBe("high");
    expect(patient([...Array(7).fill(1), 0, 1])).toBe("none");
  });

  test("never changes while a value stays within the gap, wherever it began", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RESOURCE_LEVELS),
        fc.array(fc.double({ min: 0.801, max: 0.849, noNaN: true }), { maxLength: 50 }),
        (level, values) => {
          const after = run(values, { level, asking: null });
          // From critical one falls to high once; everything else stays as it was.
          expect(new Set(after).size).toBeLessThanOrEqual(2);
          if (level !== "critical") expect(after.every((each) => each === level)).toBe(true);
        },
      ),
    );
  });

  test("rises only on a value at or above a threshold, and falls only on one below it by more than the gap", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 100 }), (values) => {
        let state = calm;
        for (const value of values) {
          const next = stepLevel(state, value, limits, levelDefaults);
          const [before, after] = [state.level, next.level].map((level) => RESOURCE_LEVELS.indexOf(level));
          if (after! > before!) expect(value).toBeGreaterThanOrEqual(thresholdOf(next.level, limits));
          if (after! < before!) expect(value).toBeLessThan(thresholdOf(state.level, limits) - levelDefaults.gap);
          state = next;
        }
      }),
    );
  });

  test("ends where a constant value says it should, from any level", () => {
    fc.assert(
      fc.property(fc.constantFrom(...RESOURCE_LEVELS), fc.double({ min: 0, max: 1, noNaN: true }), (level, value) => {
        const settled = run(Array(6).fill(value), { level, asking: null }).at(-1)!;
        expect(askedLevel(settled as "none", value, limits, levelDefaults.gap)).toBe(settled);
      }),
    );
  });
});

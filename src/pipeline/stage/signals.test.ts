import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Signal, signalIn } from "./signals.ts";

const signal = (overrides: Partial<Signal> = {}): Signal => ({
  value: 2,
  low: 0.5,
  high: 2,
  half_life: 4,
  iteration: 10,
  since: 0,
  author: "curriculum_integration",
  reason: "",
  evidence: {},
  ...overrides,
});

describe("a signal", () => {
  it("is whole in the iteration in which it was said, and half of it is left after its half-life", () => {
    expect(signalIn(signal(), 10)).toBe(2);
    expect(signalIn(signal(), 14)).toBeCloseTo(Math.SQRT2, 12);
    expect(signalIn(signal({ value: 0.5 }), 14)).toBeCloseTo(Math.SQRT1_2, 12);
  });

  it("stays within its bounds and comes closer to 1 with every iteration, whatever was said", () => {
    fc.assert(
      fc.property(
        fc.double(),
        fc.integer({ min: 0, max: 1_000 }),
        fc.integer({ min: 1, max: 50 }),
        (value, iteration, half_life) => {
          const said = signal({ value, half_life });
          const [now, later] = [signalIn(said, iteration), signalIn(said, iteration + 1)];
          expect(now).toBeGreaterThanOrEqual(0.5);
          expect(now).toBeLessThanOrEqual(2);
          expect(Math.abs(Math.log(later))).toBeLessThanOrEqual(Math.abs(Math.log(now)));
        },
      ),
    );
  });

  it("has faded after many iterations", () => {
    expect(signalIn(signal(), 10 + 60)).toBeCloseTo(1, 4);
  });
});

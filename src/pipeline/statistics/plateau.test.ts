import { describe, expect, it } from "vitest";
import { detectPlateau, type PlateauEvidence } from "./plateau.ts";

const flat: PlateauEvidence = {
  models: [1, 2, 3, 4, 5, 6].map((doubling) => ({
    rows: 1000 * 2 ** doubling,
    elo: 300 + (doubling % 2),
    standardError: 8,
  })),
  replacedShare: 1.2,
  gatesWithoutPass: 3,
};
const failing = (evidence: PlateauEvidence) =>
  detectPlateau(evidence)
    .conditions.filter(({ holds }) => !holds)
    .map(({ name }) => name);

describe("a plateau", () => {
  it("needs a slope known to be small, new data and gates that agree", () => {
    const verdict = detectPlateau(flat);
    expect(verdict.plateau).toBe(true);
    expect(verdict.velocity!.upperBound).toBeLessThan(10);
    expect(failing({ ...flat, replacedShare: 0.9 })).toEqual(["replaced_share_of_window"]);
    expect(failing({ ...flat, gatesWithoutPass: 2 })).toEqual(["gates_without_pass"]);
  });

  it("is not called while the Elo rises, nor while its errors are too wide to say", () => {
    const rising = flat.models.map((model, i) => ({ ...model, elo: 300 + 15 * i }));
    const vague = flat.models.map((model) => ({ ...model, standardError: 60 }));
    expect(failing({ ...flat, models: rising })).toEqual(["upper_bound_of_elo_per_doubling"]);
    expect(failing({ ...flat, models: vague })).toEqual(["upper_bound_of_elo_per_doubling"]);
  });

  it("is not called from two models, or from models that all saw the same rows", () => {
    expect(failing({ ...flat, models: flat.models.slice(0, 2) })).toContain("models");
    const same = flat.models.map((model) => ({ ...model, rows: 1000 }));
    expect(detectPlateau({ ...flat, models: same })).toMatchObject({ plateau: false });
    expect(detectPlateau({ ...flat, models: [] }).velocity).toBeUndefined();
  });

  it("says what each condition is and what it must be", () => {
    expect(detectPlateau({ ...flat, gatesWithoutPass: 1 }).conditions).toContainEqual({
      name: "gates_without_pass",
      actual: 1,
      required: ">= 3",
      holds: false,
    });
  });

  it("refuses broken evidence", () => {
    expect(() => detectPlateau({ ...flat, replacedShare: Number.NaN })).toThrow("finite");
    expect(() => detectPlateau({ ...flat, replacedShare: -1 })).toThrow("negative");
    expect(() => detectPlateau({ ...flat, gatesWithoutPass: -1 })).toThrow("whole number");
    expect(() => detectPlateau({ ...flat, models: [{ rows: 0, elo: 1, standardError: 1 }] })).toThrow("rows");
  });
});

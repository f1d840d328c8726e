import { describe, expect, it } from "vitest";
import { factorise, invert, solve } from "./symmetric-matrix.ts";

const matrix = [
  [4, 2, 0.5],
  [2, 5, 1],
  [0.5, 1, 3],
].map((row) => Float64Array.from(row));

describe("a positive definite matrix", () => {
  it("times its solution is the right side, and times its inverse is one", () => {
    const lower = factorise(matrix);
    const right = [1, -2, 3];
    const x = solve(lower, right);
    const inverse = invert(lower);
    for (const [i, row] of matrix.entries()) {
      expect(row.reduce((sum, value, j) => sum + value * x[j]!, 0)).toBeCloseTo(right[i]!, 12);
      for (let k = 0; k < 3; k += 1)
        expect(row.reduce((sum, value, j) => sum + value * inverse[j]![k]!, 0)).toBeCloseTo(Number(i === k), 12);
    }
  });

  it("that rounding has made singular still has a finite solution", () => {
    const lower = factorise([Float64Array.of(1e20, -1e20), Float64Array.of(-1e20, 1e20)]);
    expect([...solve(lower, [1, 1]), ...invert(lower).flatMap((row) => [...row])].every(Number.isFinite)).toBe(true);
  });
});

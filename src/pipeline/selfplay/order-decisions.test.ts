import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byPart, cutIntoJobs } from "./cut-into-jobs.ts";
import { MAX_PARTS } from "./limits.ts";
import { costOf, excluding, openJobsAllowed } from "./orders.ts";

describe("the games of an iteration", () => {
  test("are cut into jobs without gap or overlap, never into too many", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 5_000 }), (games, perJob) => {
        const parts = cutIntoJobs(games, perJob);
        expect(parts.length).toBeLessThanOrEqual(MAX_PARTS);
        let next = 0;
        for (const [n, part] of parts.entries()) {
          expect(part).toMatchObject({ part: `p${n}`, first_game: next });
          expect(part.games).toBeGreaterThan(0);
          next += part.games;
        }
        expect(next).toBe(games);
        expect(parts.toReversed().toSorted(byPart)).toEqual(parts);
      }),
    );
  });

  test("keep the wanted size of a job where that is few enough jobs", () => {
    expect(cutIntoJobs(45, 20).map(({ games }) => games)).toEqual([20, 20, 5]);
  });
});

describe("the queue is filled", () => {
  test.each([
    ["none", 1, 64],
    ["none", 0.25, 16],
    ["soft", 0.5, 16],
    ["hard", 1, 6],
    ["stop", 1, 1],
    ["stop", 0.01, 1],
  ] as const)("under pressure %s with a share of %s up to %s jobs of 64", (level, share, jobs) => {
    expect(openJobsAllowed(level, share, 64)).toBe(jobs);
  });

  test("at a cost that turns equal turns into shares", () => {
    expect(costOf(0.5, 2)).toBe(1);
    expect(costOf(0.8, 2) * 4).toBeCloseTo(costOf(0.2, 2));
    expect(costOf(0, 3)).toBe(10);
    expect(costOf(1, 100)).toBe(0.1);
  });
});

describe("nodes that may not do something", () => {
  test.each([
    [
      ["a", "b", "c"],
      [["a", "b"], ["b"]],
      ["a", "b"],
    ],
    [
      ["a", "b"],
      [
        ["b", "a", "b"],
        ["b", "b"],
      ],
      ["b"],
    ],
    [["a", "b"], [["a", "b"]], []],
    [["a"], [["a"], []], []],
    [[], [["a"], []], ["a"]],
  ] as const)("of %o by the wishes %o are %o", (nodes, wishes, excluded) => {
    expect(excluding(nodes, ...wishes)).toEqual(excluded);
  });
});

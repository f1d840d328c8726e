import { describe, expect, test } from "vitest";
import type { DiskMeasure } from "../../disk-space.ts";
import { diskSpaceLimits as limits } from "../../limits.ts";
import { cleaningFor, isDue, pressureOf, standing } from "./decide.ts";

const HOUR = 3_600_000;
const disk = (more: Partial<DiskMeasure> = {}): DiskMeasure => ({
  level: "none",
  usage: 0.5,
  freeBytes: 50e9,
  fullInMs: null,
  ...more,
});
const usual = { graceMs: 600_000, strayGraceMs: 24 * HOUR, quarantineMs: 168 * HOUR };

describe("how short the disk is", () => {
  test.each([
    [undefined, "none"],
    [disk(), "none"],
    [disk({ fullInMs: 3 * HOUR }), "none"],
    [disk({ fullInMs: HOUR }), "high"],
    [disk({ level: "high", usage: 0.9 }), "high"],
    [disk({ level: "critical", usage: 0.97 }), "critical"],
  ])("of %o is %s", (measured, level) => expect(pressureOf(measured, limits).level).toBe(level));

  test("is said with its numbers", () => {
    expect(pressureOf(disk({ fullInMs: HOUR }), limits).why).toBe(
      "50 % of the disk are in use, and at this rate it is full in 60 min",
    );
    expect(pressureOf(disk({ level: "critical", usage: 0.97 }), limits).why).toBe(
      "97 % of the disk are in use (critical)",
    );
  });
});

describe("what may go", () => {
  test("goes sooner the fuller the disk is, and never later than the operator has said", () => {
    const graces = (["none", "high", "critical"] as const).map((level) => cleaningFor(level, usual, [], limits));
    for (const [i, next] of graces.slice(1).entries())
      for (const key of ["graceMs", "strayGraceMs", "quarantineMs"] as const)
        expect(next[key]).toBeLessThan(graces[i]![key]);
    const short = { graceMs: 60_000, strayGraceMs: HOUR, quarantineMs: HOUR };
    expect(cleaningFor("high", short, [], limits)).toMatchObject(short);
  });

  test("is nothing of a config whose books do not balance, unless the journal itself is in danger", () => {
    const except = (level: "none" | "high" | "critical") =>
      cleaningFor(level, usual, ["hex8_2p"], limits).exceptConfigs;
    expect([except("none"), except("high"), except("critical")]).toEqual([["hex8_2p"], ["hex8_2p"], []]);
  });
});

test("it is looked at more often the fuller the disk is, and at once after a clock was set back", () => {
  const due = (ago: number, level: "none" | "high" | "critical") => isDue(1e9 - ago, level, 1e9, limits);
  expect([due(30_000, "none"), due(61_000, "none")]).toEqual([false, true]);
  expect([due(10_000, "high"), due(21_000, "high"), due(6_000, "critical")]).toEqual([false, true, true]);
  expect([isDue(null, "none", 0, limits), due(-5_000, "none")]).toEqual([true, true]);
});

test.each([
  [disk(), 0, true, /^50 GB of the disk are free$/],
  [disk({ fullInMs: 5 * HOUR }), 0, true, /full in 5 h$/],
  [disk({ level: "critical", usage: 0.97, freeBytes: 3e9 }), 2e9, false, /2\.0 GB were freed last/],
  [disk({ level: "critical", usage: 0.97, freeBytes: 3e9 }), 0, false, /nothing more can be freed/],
])("a person who asks about %o after %i freed bytes reads how it stands", (measured, freed, isWell, words) => {
  expect(standing(measured, freed)).toEqual({ isWell, message: expect.stringMatching(words) });
});

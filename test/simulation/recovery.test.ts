/** Random faults over the shipped decisions about nodes: seeded, a few hundred here, ten thousand in the soak. */
import { describe, expect, test } from "vitest";
import { PLANTS, recoveryWorld } from "./recovery-world.ts";

describe("whatever befalls nodes", () => {
  test.each([1, 2, 3, 4, 5, 6])(
    "nobody busy, alone with files or healthy is touched, and all are well in the end (seed %i)",
    (seed) => {
      const report = recoveryWorld({ seed, faults: 60 });
      expect(report.violations.slice(0, 5)).toEqual([]);
      expect(report.found).toBeGreaterThan(5);
      expect(report.recovered).toBeGreaterThan(5);
    },
  );

  test("every rung is used, and whole networks that fail suspend them all", () => {
    const reports = [1, 2, 3, 4, 5, 6].map((seed) => recoveryWorld({ seed, faults: 60 }));
    const used = new Set(reports.flatMap(({ acts }) => Object.keys(acts)));
    expect([...used].sort()).toEqual(["drain", "person", "reboot", "replace", "restart"]);
    expect(reports.some(({ suspendedTicks }) => suspendedTicks > 0)).toBe(true);
  });

  test("one seed is one history", () => {
    expect(recoveryWorld({ seed: 9, faults: 40 })).toEqual(recoveryWorld({ seed: 9, faults: 40 }));
  });
});

test.each(PLANTS.filter((plant) => plant !== "none"))("a mistake is found: %s", (plant) => {
  const found = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((seed) => recoveryWorld({ seed, faults: 60, plant }).violations);
  expect(found.length).toBeGreaterThan(0);
});

/** Random faults over the shipped decisions about nodes: seeded, a few hundred here, ten thousand in the soak. */
import { describe, expect, test } from "vitest";
import { lazyTable } from "../../src/kernel/index.ts";
import { PLANTS, recoveryWorld } from "./recovery-world.ts";

const sixty = lazyTable(
  Object.fromEntries([1, 2, 3, 4, 5, 6].map((seed) => [seed, () => recoveryWorld({ seed, faults: 60 })])),
);

describe("whatever befalls nodes", () => {
  test.each([1, 2, 3, 4, 5, 6])(
    "nobody busy, alone with files or healthy is touched, and all are well in the end (seed %i)",
    (seed) => {
      const report = sixty[seed]!;
      expect(report.violations.slice(0, 5)).toEqual([]);
      expect(report.found).toBeGreaterThan(5);
      expect(report.recovered).toBeGreaterThan(5);
    },
  );

  test("every rung is used, and whole networks that fail suspend them all", () => {
    const reports = Object.values(sixty);
    const used = new Set(reports.flatMap(({ acts }) => Object.keys(acts)));
    expect([...used].sort()).toEqual(["drain", "person", "reboot", "replace", "restart"]);
    expect(reports.some(({ suspendedTicks }) => suspendedTicks > 0)).toBe(true);
  });

  test("one seed is one history", () => {
    expect(recoveryWorld({ seed: 9, faults: 40 })).toEqual(recoveryWorld({ seed: 9, faults: 40 }));
  });
});

test.each(PLANTS.filter((plant) => plant !== "none"))("a mistake is found: %s", (plant) => {
  const finds = (seed: number) => recoveryWorld({ seed, faults: 60, plant }).violations.length > 0;
  expect([1, 2, 3, 4, 5, 6, 7, 8].find(finds)).toBeDefined();
});

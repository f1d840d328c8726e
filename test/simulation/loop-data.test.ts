import { describe, expect, test } from "vitest";
import { ALL_AT_ONCE, type LoopFaults, simulateLoopData } from "./loop-data-world.ts";

/** `LOOP_SEEDS=from-to` replays or widens; a single failing seed is replayed by `LOOP_SEEDS=17-17`. */
const [from, to] = (process.env.LOOP_SEEDS ?? "1-1").split("-").map(Number) as [number, number];
const seeds = Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe("from the first game to the training file", () => {
  const calm = simulateLoopData(0);

  test("three iterations of two configs come to their end when nothing goes wrong", async () => {
    const { made, violations, virtualSeconds } = await calm;
    expect(violations).toEqual([]);
    expect(virtualSeconds).toBeLessThan(120);
    for (const config of Object.values(
      made as Record<string, { states: string[]; exported: { total_rows: number; window: object[] } }>,
    )) {
      expect(config.states).toEqual(["done", "done", "done"]);
      expect(config.exported.total_rows).toBe(3 * 270);
      expect(config.exported.window).toHaveLength(3);
    }
  });

  test.each<[string, Partial<LoopFaults>]>([
    ["every event is lost", { lost: 1 }],
    ["a third of the events is lost and a fifth told twice", { lost: 0.3, doubled: 0.2 }],
    ["the main process dies at commits", { crash: 0.01 }],
    ["workers fail and die", { failing: 0.25 }],
    ["one worker makes wrong labels", { poisoned: true }],
    ["all of it happens at once", ALL_AT_ONCE],
  ])("the same comes out when %s", async (_name, faults) => {
    const { made } = await calm;
    const sums = { crashes: 0, rejected: 0 };
    for (const seed of seeds) {
      const report = await simulateLoopData(seed, faults);
      expect({ seed, violations: report.violations }).toEqual({ seed, violations: [] });
      expect({ seed, made: report.made }).toEqual({ seed, made });
      sums.crashes += report.crashes;
      sums.rejected += report.rejected;
    }
    if (faults.crash !== undefined) expect(sums.crashes).toBeGreaterThan(seeds.length);
    if (faults.poisoned === true) expect(sums.rejected).toBeGreaterThanOrEqual(seeds.length);
  });

  test("units that trust events alone are found out when one is lost", async () => {
    const { violations } = await simulateLoopData(1, { lost: 0.3, plant: "no-ticks" });
    expect(violations).toContain("the iterations did not come to their end");
  });

  test("one seed gives one history", async () => {
    const faults = { lost: 0.2, doubled: 0.2, crash: 0.01, failing: 0.2, poisoned: true };
    expect((await simulateLoopData(5, faults)).trace).toEqual((await simulateLoopData(5, faults)).trace);
  });
});

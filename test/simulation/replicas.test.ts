import { expect, test } from "vitest";
import { PLANTS, runReplicas, runRolledBack } from "./replicas-world.ts";

/** `REPLICA_SEEDS=7-7` runs one world again. Thousands of them: `npm run soak -- replicas`. */
const WORLDS = 200;
const [from, to] = (process.env.REPLICA_SEEDS ?? `1-${WORLDS}`).split("-").map(Number) as [number, number];

test(`three replicas keep their promises in the worlds ${from} to ${to}`, async () => {
  const sums = { terms: 0, acked: 0, crashes: 0, refusedActs: 0 };
  for (let seed = from; seed <= to; seed += 1) {
    const { violations, trace, terms, acked, crashes, refusedActs } = await runReplicas(seed);
    expect(violations, `world ${seed}:\n${trace.join("\n")}`).toEqual([]);
    sums.terms += terms;
    sums.acked += acked;
    sums.crashes += crashes;
    sums.refusedActs += refusedActs;
  }
  // The worlds are as rough as they should be: leaders change, processes crash, and clients are answered all the same.
  const worlds = to - from + 1;
  expect(sums.terms).toBeGreaterThan(worlds);
  expect(sums.acked).toBeGreaterThan(10 * worlds);
  if (worlds >= 20) expect(sums.crashes).toBeGreaterThan(worlds / 4);
  // There were leaders that could not be sure any more, and did nothing outside.
  if (worlds >= 20) expect(sums.refusedActs).toBeGreaterThan(0);
});

test("leases that somebody has set differently cost time, and nobody acts outside while another leads", async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const { violations, trace } = await runReplicas(seed, "none", true);
    expect(violations, `world ${seed}:\n${trace.join("\n")}`).toEqual([]);
  }
});

test("a log that loses what it acknowledged is noticed, and no two replicas differ at one entry", async () => {
  const noticed = new Set<string>();
  for (let seed = 1; seed <= 20; seed += 1) {
    const report = await runRolledBack(seed);
    expect(report.violations, `world ${seed}:\n${report.trace.join("\n")}`).toEqual([]);
    for (const code of report.noticed) noticed.add(code);
  }
  expect([...noticed].toSorted()).toEqual(["LOG_LOST_ENTRIES", "REPLICA_DIVERGED"]);
});

test("one seed gives one history", async () => {
  const [first, second] = [await runReplicas(8), await runReplicas(8)];
  expect(second.trace).toEqual(first.trace);
});

test.each(PLANTS.filter((plant) => plant !== "none"))("%s is found out", async (plant) => {
  let found: readonly string[] = [];
  for (let seed = 1; seed <= 100 && found.length === 0; seed += 1) found = (await runReplicas(seed, plant)).violations;
  expect(found).not.toEqual([]);
});

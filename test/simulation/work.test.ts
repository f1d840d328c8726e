import { expect, test } from "vitest";
import { simulateWork, type WorkPlant } from "./work-world.ts";

/** `WORK_SEEDS=from-to` replays or widens; a single failing seed is replayed by `WORK_SEEDS=17-17`. */
const [from, to] = (process.env.WORK_SEEDS ?? "1-24").split("-").map(Number) as [number, number];

test(`each job is completed once in the books in the worlds ${from} to ${to}`, async () => {
  const broken: string[] = [];
  const sums = { crashes: 0, refused: 0, completed: 0, late: 0, stuck: 0, overtaken: 0 };
  for (let seed = from; seed <= to; seed += 1) {
    const report = await simulateWork(seed);
    sums.crashes += report.crashes;
    sums.refused += report.refused;
    sums.completed += report.completed;
    sums.late += report.late;
    sums.stuck += report.stuck;
    sums.overtaken += report.overtaken;
    if (report.violations.length > 0) broken.push(`seed ${seed}: ${report.violations.slice(0, 3).join("; ")}`);
  }
  expect(broken).toEqual([]);
  const worlds = to - from + 1;
  expect(sums.crashes).toBeGreaterThan(worlds / 2);
  expect(sums.refused).toBeGreaterThan(worlds / 2);
  expect(sums.completed).toBeGreaterThan(10 * worlds);
  expect(sums.late).toBeGreaterThan(worlds / 10);
  expect(sums.stuck).toBeGreaterThan(worlds / 2);
  expect(sums.overtaken).toBeGreaterThan(worlds / 10);
});

test("one seed gives one history", async () => {
  for (const seed of [3, 17]) expect((await simulateWork(seed)).trace).toEqual((await simulateWork(seed)).trace);
});

const findsIn = async (plant: WorkPlant, seeds: number) => {
  for (let seed = 1; seed <= seeds; seed += 1) if ((await simulateWork(seed, plant)).violations.length > 0) return seed;
  return undefined;
};

test("a holder that completes with another's lease is found out", async () => {
  expect(await findsIn("fence-ignored", 20)).toBeDefined();
});

test("a change without its event is found out", async () => {
  expect(await findsIn("events-apart", 5)).toBeDefined();
});

test("a job that nobody hears is too late is found out", async () => {
  expect(await findsIn("lateness-untold", 10)).toBeDefined();
});

test.each([
  ["a job that stands still and is never given to another", "stuck-held"],
  ["a job whose first and second result count both", "both-counted"],
  ["a first result that is refused because somebody else has the job", "first-refused"],
] as const)("%s is found out", async (_what, plant) => {
  expect(await findsIn(plant, 20)).toBeDefined();
});

import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";
import { workRounds } from "./work-rounds.ts";

test("eight workers under fire: every job is completed once in the books, and nobody is left behind", async () => {
  const jobs = { smallJobs: 1_000, childJobs: 100 };
  const books = await workRounds(owned(onTestFinished), { seed: 5, rounds: 12, ...jobs, workers: 8, killMain: false });
  expect(books.faults).toEqual([]);
  expect(books.jobs).toBe(jobs.smallJobs + jobs.childJobs);
  // The fire was real: jobs were taken from those who held them.
  expect(books.repeatedClaims).toBeGreaterThan(0);
});

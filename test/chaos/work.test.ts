import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";
import { workRounds } from "./work-rounds.ts";

test("workers under fire: every job is completed once in the books, and nobody is left behind", async () => {
  const jobs = { smallJobs: 160, childJobs: 24, smallMs: 400 };
  // With this seed one is stopped beyond its lease first, one is killed, one is told to end, and the lines fail thrice. `npm run soak
  // -- work` is the same with eight workers, thousands of jobs, hundreds of rounds, and a main process that is killed too.
  const books = await workRounds(owned(onTestFinished), { seed: 88, rounds: 6, ...jobs, workers: 4, killMain: false });
  expect(books.faults).toEqual([]);
  expect(books.jobs).toBe(jobs.smallJobs + jobs.childJobs);
  expect(Object.keys(books.acts)).toEqual(expect.arrayContaining(["SIGSTOP", "kill -9", "SIGTERM", "cut"]));
  // The fire was real: jobs were taken from those who held them.
  expect(books.repeatedClaims).toBeGreaterThan(0);
});

import { expect, test } from "vitest";
import { run } from "../soak/work.ts";

test("workers under fire: every job is completed once in the books, and nobody is left behind", async () => {
  const jobs = { jobs: 160, child_jobs: 24, small_ms: 400 };
  // With this seed one is stopped beyond its lease first, one is killed, one is told to end, and the lines fail thrice. `npm run soak
  // -- work` is the same with eight workers, thousands of jobs, hundreds of rounds, and a main process that is killed too.
  const books = await run({ seed: 88, rounds: 6, ...jobs, workers: 4, kill_main: false });
  expect(books.faults).toEqual([]);
  expect(books.jobs).toBe(jobs.jobs + jobs.child_jobs);
  expect(Object.keys(books.acts)).toEqual(expect.arrayContaining(["SIGSTOP", "kill -9", "SIGTERM", "cut"]));
  // The fire was real: jobs were taken from those who held them.
  expect(books.repeatedClaims).toBeGreaterThan(0);
});

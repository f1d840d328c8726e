/** Eight workers under fire for hundreds of rounds, with a main process that is killed as well. */
import { defined } from "../../src/kernel/index.ts";
import { workRounds } from "../chaos/work-rounds.ts";
import { owned } from "../support/process.ts";

export interface WorkSoakOptions {
  readonly seed?: number;
  readonly rounds?: number;
  readonly jobs?: number;
  readonly child_jobs?: number;
  readonly workers?: number;
  /** How long a small job takes at most. */
  readonly small_ms?: number;
  readonly kill_main?: boolean;
}
export const tiny: WorkSoakOptions = { rounds: 2, jobs: 20, child_jobs: 4, workers: 3 };
export const shownBy = "test/chaos/work.test.ts";

export async function run(options: WorkSoakOptions = {}) {
  const {
    seed = 1,
    rounds = 200,
    jobs = 20_000,
    child_jobs = 1_000,
    workers = 8,
    small_ms,
    kill_main = true,
  } = options;
  await using own = owned();
  const books = await workRounds(own, {
    seed,
    rounds,
    smallJobs: jobs,
    childJobs: child_jobs,
    workers,
    killMain: kill_main,
    ...defined({ smallMs: small_ms }),
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  if (books.faults.length > 0) throw new Error(books.faults.join("\n"));
  return books;
}

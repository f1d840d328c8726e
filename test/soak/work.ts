/** Eight workers under fire for hundreds of rounds, with a main process that is killed as well. */
import { workRounds } from "../chaos/work-rounds.ts";
import { owned } from "../support/process.ts";

export async function run() {
  await using own = owned();
  const books = await workRounds(own, {
    seed: Number(process.env.SEED ?? 1),
    rounds: Number(process.env.ROUNDS ?? 200),
    smallJobs: Number(process.env.JOBS ?? 20_000),
    childJobs: Number(process.env.CHILD_JOBS ?? 1_000),
    workers: 8,
    killMain: true,
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  if (books.faults.length > 0) throw new Error(books.faults.join("\n"));
  return books;
}

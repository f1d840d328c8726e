/** 300 rounds of kill -9 on the main process, a publisher or a consumer. */
import { killRounds } from "../chaos/kill-rounds.ts";
import { owned } from "../support/process.ts";

export const tiny = { rounds: 1 };
export const shownBy = "test/chaos/kill.test.ts";

export async function run({ rounds = 300, seed = 1 }: { rounds?: number; seed?: number } = {}) {
  await using own = owned();
  const books = await killRounds(own, rounds, seed);
  if (books.faults.length > 0) throw new Error(books.faults.join("\n"));
  return books;
}

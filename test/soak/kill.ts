/** 300 rounds of kill -9 on the main process, a publisher or a consumer. */
import { killRounds } from "../chaos/kill-rounds.ts";
import { owned } from "../support/process.ts";

export async function run() {
  await using own = owned();
  const books = await killRounds(own, Number(process.env.ROUNDS ?? 300), 1);
  if (books.faults.length > 0) throw new Error(books.faults.join("\n"));
  return books;
}

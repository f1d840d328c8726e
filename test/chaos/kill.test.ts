import { expect, test } from "vitest";
import { run } from "../soak/kill.ts";

test("kill -9 of each part and at each named point loses nothing that was acknowledged and counts nothing twice", async () => {
  const books = await run({ rounds: 6, seed: 7 });
  expect(books.faults).toEqual([]);
  expect(books.acknowledged).toBeGreaterThan(100);
});

import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";
import { killRounds } from "./kill-rounds.ts";

test("kill -9 of each part and at each named point loses nothing that was acknowledged and counts nothing twice", async () => {
  const books = await killRounds(owned(onTestFinished), 6, 7);
  expect(books.faults).toEqual([]);
  expect(books.acknowledged).toBeGreaterThan(100);
});

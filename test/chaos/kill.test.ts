import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";
import { killRounds } from "./kill-rounds.ts";

test("20 rounds of kill -9 lose nothing that was acknowledged and count nothing twice", async () => {
  const books = await killRounds(owned(onTestFinished), 20, 7);
  expect(books.faults).toEqual([]);
  expect(books.acknowledged).toBeGreaterThan(100);
});

import { expect, test } from "vitest";
import { turn } from "./in-slices.ts";
import { readTurns } from "./read-turns.ts";

test("many reads of one caller begin on a turn each, and those of others come in between", async () => {
  const turnFor = readTurns();
  const begun: string[] = [];
  const read = async (caller: string) => {
    await turnFor(caller);
    begun.push(caller);
  };
  const greedy = Promise.all(Array.from({ length: 5 }, () => read("greedy")));
  const honest = async () => {
    for (let asked = 0; asked < 3; asked += 1) {
      await read("honest");
      await turn();
    }
  };
  await Promise.all([greedy, honest()]);
  expect(begun).toEqual(["greedy", "honest", "greedy", "honest", "greedy", "honest", "greedy", "greedy"]);
});

test("a read of one that asks for one thing at a time never waits", async () => {
  const turnFor = readTurns();
  expect(turnFor("one")).toBeUndefined();
  expect(turnFor("other")).toBeUndefined();
  expect(turnFor("one")).toBeInstanceOf(Promise);
  for (let turns = 0; turns < 3; turns += 1) await turn();
  expect(turnFor("one")).toBeUndefined();
});

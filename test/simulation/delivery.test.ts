import { expect, test } from "vitest";
import { expectContractIn, halfOfWorlds } from "./delivery-worlds.ts";
import { type Plant, simulate } from "./world.ts";

const worlds = halfOfWorlds(0);

test(`the contract holds in the worlds ${worlds.from} to ${worlds.to}`, () => expectContractIn(worlds));

test("one seed gives one history", async () => {
  for (const seed of [3, 17, 99]) {
    const first = await simulate({ seed });
    const second = await simulate({ seed });
    expect(second.trace).toEqual(first.trace);
    expect(first.trace.length).toBeGreaterThan(50);
  }
});

const findsIn = async (plant: Plant, seeds: number) => {
  for (let seed = 1; seed <= seeds; seed += 1) if ((await simulate({ seed, plant })).violations.length > 0) return seed;
  return undefined;
};

test("a handler that runs after its ack is found out", async () => {
  expect(await findsIn("ack-before-handler", 20)).toBeDefined();
});

test("dedup by content where no row asks for it is found out", async () => {
  expect(await findsIn("dedup-everywhere", 20)).toBeDefined();
});

test.each(["discard-off-record", "deliveries-for-ever", "letters-without-events", "overflow-unread"] as const)(
  "%s is found out",
  async (plant) => {
    expect(await findsIn(plant, 20)).toBeDefined();
  },
);

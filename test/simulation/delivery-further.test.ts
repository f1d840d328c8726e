import { test } from "vitest";
import { expectContractIn, halfOfWorlds } from "./delivery-worlds.ts";

const worlds = halfOfWorlds(1);

test(`the contract holds in the worlds ${worlds.from} to ${worlds.to}`, () => expectContractIn(worlds));

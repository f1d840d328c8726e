import { expect, test } from "vitest";
import { viewOf } from "./view.ts";

const HASH = "ab".repeat(32);

test("a game is found where it is shown move by move, a file of games where its games are listed", () => {
  expect(viewOf({ kind: "games", id: `${HASH}#17` })).toBe(`/games/${HASH}?game=17`);
  expect(viewOf({ kind: "games", id: HASH })).toBe(`/games/${HASH}`);
  expect(viewOf({ kind: "node", id: "a/b" })).toBe("/nodes/a%2Fb");
  expect(viewOf({ kind: "dead letter", id: "3" })).toBe("/dead-letters?id=3");
});

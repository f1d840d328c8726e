import { expect, test } from "vitest";
import { chooseRatingPair, type RatingChoiceFacts } from "./decide.ts";

const placed = (...players: readonly string[]) =>
  players.map((player) => ({ player, linked: true })) as unknown as RatingChoiceFacts["rated"];
const choose = (facts: Partial<RatingChoiceFacts>) =>
  chooseRatingPair({
    anchors: ["random", "mcts"],
    zero: "random",
    champions: [],
    rated: placed("random", "mcts"),
    next: [],
    open: [],
    unplayable: new Set(),
    mastered: new Set(),
    ...facts,
  });

test("the newest champion without a place plays the newest one that has a place, or else the zero", () => {
  expect(choose({ champions: ["c3", "c2", "c1"], rated: placed("c2", "c1") })).toEqual(["c3", "c2"]);
  expect(choose({ champions: ["c3", "c2", "c1"], rated: placed("c3", "c1") })).toEqual(["c2", "c3"]);
  expect(choose({ champions: ["c2", "c1"], rated: placed("random") })).toEqual(["c2", "random"]);
  const unlinked = [{ player: "c1", linked: false }] as unknown as RatingChoiceFacts["rated"];
  expect(choose({ champions: ["c2", "c1"], rated: unlinked })).toEqual(["c2", "random"]);
});

test("one that waits for games already needs no second order, and one that cannot play gets none", () => {
  const champions = ["c3", "c2"];
  const rated = placed("random", "mcts");
  expect(choose({ champions, rated, open: [["c3", "random"]] })).toEqual(["c2", "random"]);
  expect(choose({ champions, rated, open: [["random", "c3"]] })).toEqual(["c2", "random"]);
  expect(choose({ champions, rated, unplayable: new Set(["c3"]) })).toEqual(["c2", "random"]);
  expect(choose({ champions: ["c3", "c2"], rated: placed("c2"), unplayable: new Set(["c2"]) })).toEqual([
    "c3",
    "random",
  ]);
});

test("a champion that is the zero has its place", () => {
  expect(choose({ anchors: [], zero: "c1", champions: ["c1"], rated: [] })).toBeUndefined();
  expect(choose({ anchors: [], zero: "c1", champions: ["c2", "c1"], rated: [] })).toEqual(["c2", "c1"]);
});

test("then a baseline without a place plays the zero, unless it is at it, cannot play, or there is no zero", () => {
  const rated = placed("random");
  expect(choose({ rated })).toEqual(["mcts", "random"]);
  expect(choose({ rated, open: [["mcts", "random"]] })).toBeUndefined();
  expect(choose({ rated, unplayable: new Set(["mcts"]) })).toBeUndefined();
  expect(choose({ rated, unplayable: new Set(["random"]) })).toBeUndefined();
  expect(choose({ rated, zero: null })).toBeUndefined();
  expect(choose({ rated: [], anchors: ["random"] })).toBeUndefined();
});

test("then comes the pair that tells most, of those where both can play and that are not at it", () => {
  const champions = ["c2", "c1"];
  const rated = placed("c2", "c1", "random", "mcts");
  const next = [
    ["c2", "c1"],
    ["c2", "mcts"],
  ] as const;
  expect(choose({ champions, rated, next })).toEqual(["c2", "c1"]);
  expect(choose({ champions, rated, next, open: [["c1", "c2"]] })).toEqual(["c2", "mcts"]);
  expect(choose({ champions, rated, next, open: [["c1", "mcts"]] })).toEqual(["c2", "c1"]);
  expect(choose({ champions, rated, next, unplayable: new Set(["c1"]) })).toEqual(["c2", "mcts"]);
  expect(choose({ champions, rated, next, unplayable: new Set(["c2"]) })).toBeUndefined();
  expect(choose({ champions, rated, next: [["stranger", "c2"]] })).toBeUndefined();
});

test("a baseline that is mastered meets no champion any more, where others tell more; baselines still do", () => {
  const facts: Partial<RatingChoiceFacts> = {
    champions: ["new"],
    rated: placed("random", "mcts", "new"),
    next: [
      ["new", "random"],
      ["mcts", "random"],
      ["new", "mcts"],
    ],
  };
  expect(choose(facts)).toEqual(["new", "random"]);
  expect(choose({ ...facts, mastered: new Set(["random"]) })).toEqual(["mcts", "random"]);
  expect(choose({ ...facts, next: [["random", "new"]], mastered: new Set(["random"]) })).toBeUndefined();
});

import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { PairTally } from "./ledger.ts";
import { rateLadder } from "./rate-ladder.ts";
import { createRatingEngine, type RatingEngine } from "./rating-engine.ts";
import { chooseRatingPair, type RatingChoiceFacts } from "./units/elo-service/decide.ts";

const pair = (candidate: string, opponent: string, wins: number, losses: number, draws = 0): PairTally => ({
  candidate,
  opponent,
  blocks: (wins + losses + draws) / 2,
  games: wins + losses + draws,
  wins,
  draws,
  losses,
});
const request = (tallies: readonly PairTally[], players: 2 | 3 | 4 = 2) =>
  ({ players, tallies, zero: "mcts", anchors: ["random", "mcts"], max: 5 }) as const;
const eloOf = (answer: ReturnType<typeof rateLadder>, name: string) =>
  answer.players.find(({ player }) => player === name)!;

const engines: RatingEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

describe("ratings", () => {
  test("stand on the zero, with intervals that shrink with games", () => {
    const few = rateLadder(request([pair("a", "mcts", 15, 5)]));
    const many = rateLadder(request([pair("a", "mcts", 1_500, 500)]));
    expect(eloOf(many, "mcts")).toMatchObject({ elo: 0, anchor: true, linked: true });
    expect(eloOf(many, "a").elo).toBeCloseTo(400 * Math.log10(3), 0);
    const width = ({ low, high }: { low: number; high: number }) => high - low;
    expect(width(eloOf(few, "a"))).toBeGreaterThan(5 * width(eloOf(many, "a")));
  });

  test("know nothing of who is linked to nobody", () => {
    const answer = rateLadder(request([pair("a", "mcts", 30, 10), pair("x", "y", 30, 10)]));
    expect(eloOf(answer, "a").linked).toBe(true);
    expect(eloOf(answer, "x").linked).toBe(false);
    expect(rateLadder(request([]))).toEqual({ players: [], next: [] });
  });

  test("three players: the copies of an opponent count as what they are, whichever side is called the candidate", () => {
    // A candidate of equal strength wins a third of its games against two.
    const equal = rateLadder(request([pair("a", "mcts", 300, 600)], 3));
    expect(eloOf(equal, "a").elo).toBeCloseTo(0, 0);
    // Twice the odds of each of the others: half of the games.
    const better = rateLadder(request([pair("a", "mcts", 4_500, 4_500)], 3));
    expect(eloOf(better, "a").elo).toBeCloseTo(400 * Math.log10(2), 0);
    const turned = rateLadder(request([pair("mcts", "a", 1_800, 7_200)], 3));
    expect(eloOf(turned, "a").elo).toBeCloseTo(400 * Math.log10(2), 0);
    const both = rateLadder(request([pair("a", "mcts", 4_500, 4_500), pair("mcts", "a", 1_800, 7_200)], 3));
    expect(eloOf(both, "a").elo).toBeCloseTo(400 * Math.log10(2), 0);
    expect(both.players.every(({ low, elo, high }) => low <= elo && elo <= high)).toBe(true);
  });

  test("do not depend on the order of the ledger", () => {
    const games = fc.integer({ min: 0, max: 40 });
    const names = fc.constantFrom("a", "b", "c", "mcts");
    const tally = fc
      .tuple(names, names, games, games, games)
      .filter(([x, y, w, l, d]) => x !== y && w + l + d > 0)
      .map(([x, y, w, l, d]) => pair(x, y, w, l, d));
    fc.assert(
      fc.property(
        fc.uniqueArray(tally, {
          minLength: 1,
          maxLength: 8,
          selector: ({ candidate, opponent }) => `${candidate}/${opponent}`,
        }),
        fc.constantFrom(2, 3, 4),
        (tallies, players) => {
          const there = rateLadder(request(tallies, players as 2));
          const back = rateLadder(request(tallies.toReversed(), players as 2));
          for (const { player, elo } of there.players) expect(eloOf(back, player).elo).toBeCloseTo(elo, 4);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("are the same from the thread as from here", async () => {
    const engine = createRatingEngine(0);
    engines.push(engine);
    const asked = request([pair("a", "mcts", 15, 5), pair("b", "a", 12, 8), pair("random", "mcts", 2, 18)]);
    const answers = await Promise.all([engine.rate(asked), engine.rate(asked)]);
    expect(answers).toEqual([rateLadder(asked), rateLadder(asked)]);
    await expect(engine.rate({ ...asked, tallies: [pair("a", "a", 1, 1)] })).rejects.toMatchObject({
      code: "RATING_FAILED",
    });
    expect(await engine.rate(asked)).toEqual(answers[0]);
  });
});

describe("the choice of rating games", () => {
  const rated = (player: string, linked = true) => ({
    player,
    elo: 0,
    low: -10,
    high: 10,
    games: 20,
    anchor: false,
    linked,
  });
  const facts: RatingChoiceFacts = {
    anchors: ["random", "mcts"],
    zero: "mcts",
    champions: ["c3", "c2", "c1"],
    rated: ["mcts", "random", "c1", "c2", "c3"].map((player) => rated(player)),
    next: [
      ["c1", "random"],
      ["c2", "c3"],
    ],
    open: [],
    unplayable: new Set(),
    mastered: new Set(),
  };
  const cases: [why: string, changes: Partial<RatingChoiceFacts>, pair: readonly [string, string] | undefined][] = [
    ["everybody is placed: where it tells most", {}, ["c1", "random"]],
    ["that pair is at it already", { open: [["random", "c1"]] }, ["c2", "c3"]],
    ["nobody is placed: the newest meets the zero", { rated: [] }, ["c3", "mcts"]],
    [
      "the newest has no place: it meets the best that has",
      { rated: [rated("mcts"), rated("c2"), rated("c1")] },
      ["c3", "c2"],
    ],
    [
      "the newest plays already: the next one without a place",
      { rated: [rated("mcts"), rated("c1")], open: [["c3", "c1"]] },
      ["c2", "c1"],
    ],
    ["a group without an anchor is no place", { rated: [rated("c3", false), rated("mcts")] }, ["c3", "mcts"]],
    ["a baseline has no place", { rated: facts.rated.filter(({ player }) => player !== "random") }, ["random", "mcts"]],
    ["no baselines: the first champion is the zero", { anchors: [], zero: "c1", rated: [] }, ["c3", "c1"]],
    ["one that cannot play is left out", { unplayable: new Set(["random", "c3"]) }, undefined],
    ["nobody", { champions: [], anchors: [], zero: null, rated: [], next: [] }, undefined],
  ];
  test.each(cases)("%s", (_why, changes, expected) => {
    expect(chooseRatingPair({ ...facts, ...changes })).toEqual(expected);
  });
});

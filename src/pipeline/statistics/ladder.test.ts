import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOperatingError, pick, type Random, seededRandom } from "../../kernel/index.ts";
import { bradleyTerry, type Ladder, MAX_PLAYERS, plackettLuce } from "./ladder.ts";
import type { Match } from "./match.ts";

const eloOf = (ladder: Ladder, name: string) => ladder.ratings.find(({ player }) => player === name)!.elo.estimate;
const ratingOf = (ladder: Ladder, name: string) => ladder.ratings.find(({ player }) => player === name)!;
const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (thrown) {
    return isOperatingError(thrown) ? thrown.code : `untyped: ${String(thrown)}`;
  }
  return "none";
};

const someMatch: fc.Arbitrary<Match> = fc
  .tuple(
    fc.shuffledSubarray(["a", "b", "c", "d", "e"], { minLength: 2, maxLength: 4 }),
    fc.nat(4),
    fc.integer({ min: 1, max: 9 }),
  )
  .map(([players, winner, games]) => ({ players, winner: players[winner] ?? null, games }));
const someMatches = fc.array(someMatch, { minLength: 1, maxLength: 30 });

/** The minorise-maximise method of Hunter for Bradley-Terry with half a virtual draw a pair: slow, simple, independent. */
function byMinorising(wins: ReadonlyMap<string, number>, names: readonly string[]): Map<string, number> {
  const won = (a: string, b: string) => wins.get(`${a}>${b}`) ?? 0;
  const met = (a: string, b: string) => won(a, b) + won(b, a) > 0;
  let strength = new Map(names.map((name) => [name, 1]));
  for (let round = 0; round < 20_000; round += 1) {
    const next = new Map<string, number>();
    for (const a of names) {
      let victories = 0;
      let weight = 0;
      for (const b of names) {
        if (a === b || !met(a, b)) continue;
        victories += won(a, b) + 0.25;
        weight += (won(a, b) + won(b, a) + 0.5) / (strength.get(a)! + strength.get(b)!);
      }
      next.set(a, victories / weight);
    }
    strength = next;
  }
  return strength;
}

describe("a Bradley-Terry ladder", () => {
  it("agrees with minorise-maximise on a round robin", () => {
    const random = seededRandom(2);
    const names = ["p", "q", "r", "s", "t"];
    const wins = new Map<string, number>();
    const matches: Match[] = [];
    for (const [i, a] of names.entries())
      for (const b of names.slice(i + 1))
        for (const winner of [a, b]) {
          const games = 1 + pick(random, 20);
          matches.push({ players: [a, b], winner, games });
          wins.set(winner === a ? `${a}>${b}` : `${b}>${a}`, games);
        }
    const strength = byMinorising(wins, names);
    const ladder = bradleyTerry(matches, { zero: "p" });
    for (const name of names)
      expect(eloOf(ladder, name)).toBeCloseTo(400 * Math.log10(strength.get(name)! / strength.get("p")!), 5);
  });

  it("has the closed form for two players", () => {
    const matches: Match[] = [
      { players: ["x", "y"], winner: "x", games: 70 },
      { players: ["x", "y"], winner: "y", games: 20 },
      { players: ["x", "y"], winner: null, games: 10 },
    ];
    const x = ratingOf(bradleyTerry(matches, { zero: "y" }), "x");
    expect(x.elo.estimate).toBeCloseTo(400 * Math.log10(75.25 / 25.25), 8);
    const p = 75.25 / 100.5;
    expect(x.standardError).toBeCloseTo(400 / Math.LN10 / Math.sqrt(100.5 * p * (1 - p)), 8);
    expect(x).toMatchObject({ games: 100, score: 0.75, anchored: false });
  });

  it("keeps a player who won everything finite, and says how little is known of it", () => {
    const ladder = bradleyTerry([{ players: ["king", "pawn"], winner: "king", games: 40 }], { zero: "pawn" });
    const king = ratingOf(ladder, "king");
    expect(king.elo.estimate).toBeGreaterThan(500);
    expect(king.elo.estimate).toBeLessThan(1000);
    expect(king.standardError).toBeGreaterThan(200);
  });

  it("refuses matches of more than two", () => {
    expect(codeOf(() => bradleyTerry([{ players: ["a", "b", "c"], winner: "a" }]))).toBe("INVALID_MATCH");
  });
});

describe("any ladder", () => {
  it("does not depend on the order of the matches, nor of the players in them", () => {
    fc.assert(
      fc.property(someMatches, fc.integer(), (matches, seed) => {
        const random = seededRandom(seed);
        const shuffled = matches
          .map((match) => ({ match, key: random.next() }))
          .sort((x, y) => x.key - y.key)
          .map(({ match }) => ({ ...match, players: match.players.toReversed() }));
        const [one, two] = [plackettLuce(matches), plackettLuce(shuffled)];
        expect(two.groups.map(({ players }) => players)).toEqual(one.groups.map(({ players }) => players));
        for (const { player, elo, standardError } of one.ratings) {
          expect(ratingOf(two, player).elo.estimate).toBeCloseTo(elo.estimate, 5);
          expect(ratingOf(two, player).standardError).toBeCloseTo(standardError, 5);
        }
      }),
      { seed: 6, numRuns: 150 },
    );
  });

  it("does not depend on how equal games are counted", () => {
    fc.assert(
      fc.property(someMatches, (matches) => {
        const single = matches.flatMap((match) =>
          Array.from({ length: match.games ?? 1 }, () => ({ ...match, games: 1 })),
        );
        const [one, two] = [plackettLuce(matches), plackettLuce(single)];
        for (const { player, elo } of one.ratings) expect(eloOf(two, player)).toBeCloseTo(elo.estimate, 5);
        expect(two.games).toBe(one.games);
      }),
      { seed: 7, numRuns: 100 },
    );
  });

  it("negates when all results of two players are turned round", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), fc.nat(20), (wins, losses, draws) => {
        fc.pre(wins + losses + draws > 0);
        const ladder = (first: number, second: number) =>
          bradleyTerry(
            [
              { players: ["x", "y"], winner: "x", games: first },
              { players: ["x", "y"], winner: "y", games: second },
              { players: ["x", "y"], winner: null, games: draws },
            ].filter(({ games }) => games > 0),
            { zero: "y" },
          );
        expect(eloOf(ladder(wins, losses), "x")).toBeCloseTo(-eloOf(ladder(losses, wins), "x"), 6);
      }),
    );
  });

  it("shifts as a whole when another player is the zero", () => {
    fc.assert(
      fc.property(someMatches, (matches) => {
        const names = plackettLuce(matches).groups[0]!.players;
        const [one, two] = [plackettLuce(matches, { zero: names[0]! }), plackettLuce(matches, { zero: names[1]! })];
        const shift = eloOf(one, names[1]!);
        for (const name of names) expect(eloOf(two, name)).toBeCloseTo(eloOf(one, name) - shift, 4);
        expect(ratingOf(two, names[1]!)).toMatchObject({ standardError: 0, anchored: true });
      }),
      { seed: 8, numRuns: 100 },
    );
  });

  it("never moves an anchor, and pulls the others towards what the anchors say", () => {
    const matches: Match[] = [
      { players: ["net", "weak"], winner: "net", games: 30 },
      { players: ["net", "weak"], winner: "weak", games: 10 },
      { players: ["net", "strong"], winner: "net", games: 10 },
      { players: ["net", "strong"], winner: "strong", games: 30 },
    ];
    const ladder = bradleyTerry(matches, { zero: "weak", anchors: { strong: 380 } });
    expect(ratingOf(ladder, "strong").elo).toEqual({ estimate: 380, low: 380, high: 380 });
    expect(eloOf(ladder, "weak")).toBe(0);
    expect(eloOf(ladder, "net")).toBeCloseTo(190, 0);
    expect(ladder.groups[0]!.anchored).toBe(true);
  });

  it("has smaller errors with its zero in the middle than at its foot", () => {
    const names = Array.from({ length: 9 }, (_, i) => `rung-${i}`);
    const matches = names.slice(1).flatMap((name, i): Match[] => [
      { players: [name, names[i]!], winner: name, games: 24 },
      { players: [name, names[i]!], winner: names[i]!, games: 8 },
    ]);
    const widest = (zero: string) => Math.max(...bradleyTerry(matches, { zero }).ratings.map((r) => r.standardError));
    expect(widest("rung-4")).toBeLessThan(0.75 * widest("rung-0"));
  });

  it("rates groups without a common game apart, and says so", () => {
    const matches: Match[] = [
      { players: ["a", "b"], winner: "a", games: 9 },
      { players: ["b", "c"], winner: "b", games: 9 },
      { players: ["x", "y"], winner: "x", games: 5 },
    ];
    const ladder = bradleyTerry(matches, { zero: "b" });
    expect(ladder.groups.map(({ players, anchored }) => ({ players, anchored }))).toEqual([
      { players: ["a", "b", "c"], anchored: true },
      { players: ["x", "y"], anchored: false },
    ]);
    expect(eloOf(ladder, "x") + eloOf(ladder, "y")).toBeCloseTo(0, 9);
    expect(ratingOf(ladder, "x").group).toBe(1);
    expect(ladder.ratings.map(({ player }) => player)).toEqual(["a", "b", "c", "x", "y"]);
  });

  it("refuses bad matches, unknown anchors and contradictions, each with its code", () => {
    const match: Match = { players: ["net-12", "mcts-100"], winner: "net-12" };
    expect(codeOf(() => plackettLuce([]))).toBe("INVALID_MATCHES");
    expect(codeOf(() => plackettLuce([{ players: ["a", "a"], winner: "a" }]))).toBe("INVALID_MATCH");
    expect(codeOf(() => plackettLuce([match], { zero: "mcts-10" }))).toBe("UNKNOWN_PLAYER");
    expect(() => plackettLuce([match], { zero: "mcts-10" })).toThrow("Did you mean mcts-100?");
    expect(codeOf(() => plackettLuce([match], { anchors: { "mcts-100": Number.NaN } }))).toBe("INVALID_ANCHOR");
    expect(codeOf(() => plackettLuce([match], { anchors: { "mcts-100": 1e9 } }))).toBe("INVALID_ANCHOR");
    expect(codeOf(() => plackettLuce([match], { zero: "mcts-100", anchors: { "mcts-100": 5 } }))).toBe(
      "INVALID_ANCHOR",
    );
    expect(codeOf(() => plackettLuce([match], { confidence: 2 }))).toBe("INVALID_CONFIDENCE");
    const crowd = Array.from(
      { length: MAX_PLAYERS + 1 },
      (_, i): Match => ({ players: ["hub", `p${i}`], winner: "hub" }),
    );
    expect(codeOf(() => plackettLuce(crowd))).toBe("INVALID_MATCHES");
  });
});

/** Draws a full order, each place with chances in proportion to strength. */
const drawOrder = (players: readonly string[], elo: ReadonlyMap<string, number>, random: Random): string[] => {
  const left = [...players];
  const order: string[] = [];
  while (left.length > 0) {
    const weights = left.map((name) => 10 ** (elo.get(name)! / 400));
    let at = random.next() * weights.reduce((sum, w) => sum + w, 0);
    let seat = 0;
    while (seat < left.length - 1 && at >= weights[seat]!) {
      at -= weights[seat]!;
      seat += 1;
    }
    order.push(...left.splice(seat, 1));
  }
  return order;
};

describe("the errors of a ladder, over simulated matches", () => {
  const truth = new Map([
    ["a", 0],
    ["b", 60],
    ["c", -120],
    ["d", 200],
    ["e", 110],
  ]);
  const names = [...truth.keys()];
  it.each([2, 3, 4])("cover the truth at their stated rate with %i players, by winner and by order", (seats) => {
    const random = seededRandom(40 + seats);
    const runs = 250;
    const covered = { winner: 0, ranks: 0 };
    const width = { winner: 0, ranks: 0 };
    for (let run = 0; run < runs; run += 1) {
      const byWinner: Match[] = [];
      const byRank: Match[] = [];
      for (let game = 0; game < 200; game += 1) {
        const players = names.map((name) => ({ name, key: random.next() }));
        const drawn = players
          .sort((x, y) => x.key - y.key)
          .slice(0, seats)
          .map(({ name }) => name);
        const order = drawOrder(drawn, truth, random);
        byWinner.push({ players: drawn, winner: order[0]! });
        byRank.push({ players: drawn, ranks: drawn.map((name) => 1 + order.indexOf(name)) });
      }
      for (const [kind, matches] of [
        ["winner", byWinner],
        ["ranks", byRank],
      ] as const) {
        for (const { player, elo } of plackettLuce(matches, { zero: "a" }).ratings) {
          if (player === "a") continue;
          if (elo.low <= truth.get(player)! && truth.get(player)! <= elo.high) covered[kind] += 1;
          width[kind] += elo.high - elo.low;
        }
      }
    }
    // 1000 intervals that share games: allow twice the spread of independent ones.
    for (const kind of ["winner", "ranks"] as const) {
      expect(covered[kind] / (4 * runs)).toBeGreaterThan(0.925);
      expect(covered[kind] / (4 * runs)).toBeLessThan(0.975);
    }
    // The order of all tells more than the winner alone; with two players it is the same.
    if (seats > 2) expect(width.ranks).toBeLessThan(0.9 * width.winner);
    else expect(width.ranks).toBeCloseTo(width.winner, 3);
  });
});

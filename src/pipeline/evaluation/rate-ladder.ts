/** Ratings from the sums of the ledger: a pure function, however many players there are. It may take a while. */

import { sumOf } from "../../kernel/index.ts";
import type { RatedPlayer } from "../models/index.ts";
import {
  bradleyTerry,
  ELO_PER_NAT,
  fitStrengths,
  type Ladder,
  linkedGroups,
  type Match,
  nextRatingGames,
  normalQuantile,
} from "../statistics/index.ts";
import type { PairTally } from "./ledger.ts";

export interface RatingRequest {
  readonly players: 2 | 3 | 4;
  readonly tallies: readonly PairTally[];
  /** Whose rating is 0, if it has played. */
  readonly zero: string | null;
  readonly anchors: readonly string[];
  /** Pairs that would tell most, as many as are asked for. */
  readonly max: number;
}

export interface RatingAnswer {
  /** Best first within a group, the largest group first. */
  readonly players: readonly RatedPlayer[];
  /** Where the next games tell most, best first. */
  readonly next: readonly (readonly [string, string])[];
}

const matchesOf = (tallies: readonly PairTally[]): Match[] =>
  tallies.flatMap(({ candidate, opponent, wins, draws, losses }): Match[] => {
    const players = [candidate, opponent];
    return [
      ...(wins > 0 ? [{ players, winner: candidate, games: wins }] : []),
      ...(losses > 0 ? [{ players, winner: opponent, games: losses }] : []),
      ...(draws > 0 ? [{ players, winner: null, games: draws }] : []),
    ];
  });

/** Half a virtual draw for each pair that met, as the statistics have it for two players. */
const PRIOR = 0.25;

/**
 * Three and four players: one candidate against several copies of one opponent. In the model of Plackett and Luce the copies
 * are members of equal strength: the candidate wins with its share of the sum, and the opponent with the rest.
 */
function teamLadder(tallies: readonly PairTally[], seats: number, zero: string | null): Ladder {
  const names = [...new Set(tallies.flatMap(({ candidate, opponent }) => [candidate, opponent]))].sort();
  const indexOf = new Map(names.map((name, index) => [name, index]));
  const games = new Map(names.map((name) => [name, { games: 0, firsts: 0 }]));
  const choices = tallies.map(({ candidate, opponent, wins, draws, losses, games: played }) => {
    const ours = wins + draws / seats;
    const theirs = (losses + (draws * (seats - 1)) / seats) / (seats - 1);
    const own = games.get(candidate)!;
    const other = games.get(opponent)!;
    own.games += played;
    own.firsts += ours;
    other.games += played;
    other.firsts += theirs * (seats - 1);
    const [c, o] = [indexOf.get(candidate)!, indexOf.get(opponent)!];
    return {
      members: [c, ...Array.from({ length: seats - 1 }, () => o)],
      wins: [ours, ...Array.from({ length: seats - 1 }, () => theirs)],
    };
  });
  const met = new Map(choices.map(({ members: [a, b] }) => [[a, b].sort().join(), [a!, b!] as const]));
  const all = [...choices, ...[...met.values()].map((members) => ({ members: [...members], wins: [PRIOR, PRIOR] }))];
  const z = normalQuantile(0.975);
  const ratings: Ladder["ratings"][number][] = [];
  const groups: Ladder["groups"][number][] = [];
  for (const [group, members] of linkedGroups(names.length, choices).entries()) {
    const place = new Map(members.map((member, at) => [member, at]));
    const local = all
      .filter(({ members: [first] }) => place.has(first!))
      .map((choice) => ({ members: choice.members.map((member) => place.get(member)!), wins: choice.wins }));
    const zeroAt = zero === null ? undefined : place.get(indexOf.get(zero) ?? -1);
    const fit = fitStrengths(members.length, local, new Map([[zeroAt ?? 0, 0]]));
    const covariance = fit.covariance.map((row) => row.map((value) => value * ELO_PER_NAT ** 2));
    const rated = members.map((member, at) => {
      const player = names[member]!;
      const tally = games.get(player)!;
      const estimate = fit.strengths[at]! * ELO_PER_NAT;
      const standardError = Math.sqrt(Math.max(0, covariance[at]![at]!));
      const elo = { estimate, low: estimate - z * standardError, high: estimate + z * standardError };
      return {
        player,
        elo,
        standardError,
        games: tally.games,
        score: tally.firsts / tally.games,
        anchored: at === zeroAt,
        group,
      };
    });
    ratings.push(...rated.toSorted((a, b) => b.elo.estimate - a.elo.estimate || (a.player < b.player ? -1 : 1)));
    groups.push({ players: members.map((member) => names[member]!), anchored: zeroAt !== undefined, covariance });
  }
  return { ratings, groups, games: sumOf(tallies, (tally) => tally.games) };
}

export function rateLadder({ players, tallies, zero, anchors, max }: RatingRequest): RatingAnswer {
  const played = tallies.filter(({ games }) => games > 0);
  if (played.length === 0) return { players: [], next: [] };
  const known = new Set(played.flatMap(({ candidate, opponent }) => [candidate, opponent]));
  const pinned = zero !== null && known.has(zero) ? zero : null;
  const ladder =
    players === 2
      ? bradleyTerry(matchesOf(played), pinned === null ? {} : { zero: pinned })
      : teamLadder(played, players, pinned);
  return {
    players: ladder.ratings.map(({ player, elo, games, group }) => ({
      player,
      elo: elo.estimate,
      low: elo.low,
      high: elo.high,
      games,
      anchor: anchors.includes(player),
      linked: ladder.groups[group]!.anchored,
    })),
    next: nextRatingGames(ladder, max).map((game) => game.players),
  };
}

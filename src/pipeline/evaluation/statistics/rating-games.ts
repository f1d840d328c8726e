import { OperatingError } from "../../../kernel/index.ts";
import { ELO_PER_NAT } from "./elo.ts";
import type { Ladder, Rating } from "./ladder.ts";

export interface RatingDifference {
  readonly elo: number;
  readonly standardError: number;
}

const differenceOf = (elo: number, covariance: readonly Float64Array[], i: number, j: number): RatingDifference => {
  const variance = covariance[i]![i]! + covariance[j]![j]! - 2 * covariance[i]![j]!;
  return { elo, standardError: Math.sqrt(Math.max(0, variance)) };
};

/** The difference of two linked players; its error is not that of the two ratings, because these move together. */
export function ratingDifference(ladder: Ladder, a: string, b: string): RatingDifference {
  const find = (name: string): Rating => {
    const rating = ladder.ratings.find(({ player }) => player === name);
    if (rating === undefined) throw new OperatingError("UNKNOWN_PLAYER", `${name} is not on the ladder.`);
    return rating;
  };
  const first = find(a);
  const second = find(b);
  if (first.group !== second.group)
    throw new OperatingError("INVALID_PAIR", `No chain of games links ${a} and ${b}.`, {
      hint: "Let them play each other, or a common opponent.",
    });
  const { players, covariance } = ladder.groups[first.group]!;
  return differenceOf(first.elo.estimate - second.elo.estimate, covariance, players.indexOf(a), players.indexOf(b));
}

export interface RatingGame extends RatingDifference {
  readonly players: readonly [string, string];
  /** By how many percent one game is expected to shrink the variance of this difference. */
  readonly gainPercent: number;
}

/**
 * Where the next rating games tell most: a game adds the information p * (1 - p), so it is worth most between players
 * whose difference is uncertain but who are near enough to surprise each other.
 */
export function nextRatingGames(ladder: Ladder, most = 10): RatingGame[] {
  const elo = new Map(ladder.ratings.map((rating) => [rating.player, rating.elo.estimate]));
  // Sorted, and never longer than asked for: a large ladder has half a million pairs.
  const best: RatingGame[] = [];
  for (const { players, covariance } of ladder.groups) {
    const ratings = players.map((player) => elo.get(player)!);
    for (let i = 0; i < players.length; i += 1) {
      for (let j = i + 1; j < players.length; j += 1) {
        const difference = differenceOf(ratings[i]! - ratings[j]!, covariance, i, j);
        const chance = 1 / (1 + Math.exp(-difference.elo / ELO_PER_NAT));
        const information = chance * (1 - chance) * (difference.standardError / ELO_PER_NAT) ** 2;
        const gainPercent = (100 * information) / (1 + information);
        const place = best.findIndex((game) => game.gainPercent < gainPercent);
        if (place < 0 && best.length >= most) continue;
        const game: RatingGame = { players: [players[i]!, players[j]!], ...difference, gainPercent };
        best.splice(place < 0 ? best.length : place, 0, game);
        if (best.length > most) best.pop();
      }
    }
  }
  return best;
}

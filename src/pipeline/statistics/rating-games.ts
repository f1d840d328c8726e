import { ELO_PER_NAT } from "./elo.ts";
import type { Ladder } from "./ladder.ts";

export interface RatingGame {
  readonly players: readonly [string, string];
  readonly elo: number;
  /** Of the difference: not that of the two ratings, because these move together. */
  readonly standardError: number;
  /** By how many percent one game is expected to shrink the variance of this difference. */
  readonly gainPercent: number;
}

/**
 * Where the next rating games tell most: a game adds the information p * (1 - p), so it is worth most between players
 * whose difference is uncertain but who are near enough to surprise each other.
 */
export function nextRatingGames(ladder: Ladder, max = 10): RatingGame[] {
  const elo = new Map(ladder.ratings.map((rating) => [rating.player, rating.elo.estimate]));
  // Sorted, and never longer than asked for: a large ladder has half a million pairs.
  const best: RatingGame[] = [];
  for (const { players, covariance } of ladder.groups) {
    const ratings = players.map((player) => elo.get(player)!);
    for (let i = 0; i < players.length; i += 1) {
      for (let j = i + 1; j < players.length; j += 1) {
        const difference = ratings[i]! - ratings[j]!;
        const variance = covariance[i]![i]! + covariance[j]![j]! - 2 * covariance[i]![j]!;
        const standardError = Math.sqrt(Math.max(0, variance));
        const chance = 1 / (1 + Math.exp(-difference / ELO_PER_NAT));
        const information = chance * (1 - chance) * (standardError / ELO_PER_NAT) ** 2;
        const gainPercent = (100 * information) / (1 + information);
        const place = best.findIndex((game) => game.gainPercent < gainPercent);
        if (place < 0 && best.length >= max) continue;
        const game: RatingGame = { players: [players[i]!, players[j]!], elo: difference, standardError, gainPercent };
        best.splice(place < 0 ? best.length : place, 0, game);
        if (best.length > max) best.pop();
      }
    }
  }
  return best;
}

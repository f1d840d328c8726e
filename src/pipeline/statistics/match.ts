import { checkCount, invalid } from "./checks.ts";

/** One line of the match ledger: who played, and how it ended, once or several times alike. */
export type Match = {
  readonly players: readonly string[];
  /** How often this happened; once unless said. */
  readonly games?: number;
} & (
  | {
      /** The winner; null for a draw of all. Says nothing about the order of the others. */
      readonly winner: string | null;
    }
  | {
      /** The place of each player, 1 for the best; equal places are ties. */
      readonly ranks: readonly number[];
    }
);

/** How often each member of a set of players came out first of that set; fractions where it was shared. */
export interface Choice {
  readonly members: readonly number[];
  readonly wins: readonly number[];
}

export const MAX_SEATS = 4;
/** Far beyond any real ledger, and well within what sums of counts keep exactly. */
const MAX_GAMES = 1e9;

export function checkMatch(match: Match): void {
  const { players, games = 1 } = match;
  if (players.length < 2 || players.length > MAX_SEATS)
    throw invalid("MATCH", `A match has 2 to ${MAX_SEATS} players, not ${players.length}.`);
  if (new Set(players).size !== players.length)
    throw invalid("MATCH", `A player cannot meet itself: ${players.join(", ")}.`);
  for (const player of players)
    if (typeof player !== "string" || player === "") throw invalid("MATCH", "A player's name cannot be empty.");
  checkCount(games, 1, "MATCH", "The number of games");
  if (games > MAX_GAMES)
    throw invalid("MATCH", `${games} games are more than the ${MAX_GAMES} that a match may count.`);
  if ("ranks" in match) {
    if (match.ranks.length !== players.length)
      throw invalid("MATCH", `${players.length} players need ${players.length} ranks, not ${match.ranks.length}.`);
    for (const rank of match.ranks) checkCount(rank, 1, "MATCH", "A rank");
  } else if (match.winner !== null && !players.includes(match.winner)) {
    throw invalid("MATCH", `The winner ${match.winner} is not among the players ${players.join(", ")}.`);
  }
}

/** Every order in which tied players could have come in, each with the same share. */
function* ordersOf(tied: readonly number[]): Generator<readonly number[]> {
  if (tied.length <= 1) yield tied;
  else
    for (const first of tied)
      for (const rest of ordersOf(tied.filter((player) => player !== first))) yield [first, ...rest];
}

/**
 * The choices a match is made of, in the sense of Plackett and Luce: first place is drawn from all, second place from
 * those left, and so on. A tie is every order of the tied, each with its share: half a win each for two players.
 */
export function choicesOf(match: Match, indexOf: (player: string) => number): Choice[] {
  const members = match.players.map(indexOf);
  const games = match.games ?? 1;
  const first = (among: readonly number[], player: number, weight: number): Choice => ({
    members: among,
    wins: among.map((member) => (member === player ? weight : 0)),
  });
  if ("winner" in match) {
    if (match.winner !== null) return [first(members, indexOf(match.winner), games)];
    return [{ members, wins: members.map(() => games / members.length) }];
  }
  const choices: Choice[] = [];
  let left: readonly number[] = members;
  for (const place of [...new Set(match.ranks)].sort((a, b) => a - b)) {
    const tied = members.filter((_, seat) => match.ranks[seat] === place);
    const orders = [...ordersOf(tied)];
    for (const order of orders) {
      let among = left;
      for (const player of order) {
        if (among.length > 1) choices.push(first(among, player, games / orders.length));
        among = among.filter((member) => member !== player);
      }
    }
    left = left.filter((member) => !tied.includes(member));
  }
  return choices;
}

/** The same choices with one entry for each set of players. */
export function mergeChoices(choices: Iterable<Choice>): Choice[] {
  const bySet = new Map<string, { members: number[]; wins: number[] }>();
  for (const { members, wins } of choices) {
    const order = members.map((_, seat) => seat).sort((a, b) => members[a]! - members[b]!);
    const sorted = order.map((seat) => members[seat]!);
    const key = sorted.join();
    const merged = bySet.get(key) ?? { members: sorted, wins: sorted.map(() => 0) };
    bySet.set(key, merged);
    for (const [i, seat] of order.entries()) merged.wins[i] = merged.wins[i]! + wins[seat]!;
  }
  return [...bySet.values()];
}

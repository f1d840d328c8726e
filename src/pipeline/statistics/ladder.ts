import { didYouMean, OperatingError, sumOf } from "../../kernel/index.ts";
import { checkBetween, checkFinite, invalid } from "./checks.ts";
import { fitStrengths } from "./choice-model.ts";
import { ELO_PER_NAT, type Interval } from "./elo.ts";
import { linkedGroups } from "./linked-groups.ts";
import { type Choice, checkMatch, choicesOf, type Match, mergeChoices } from "./match.ts";
import { normalQuantile } from "./special-functions.ts";

/**
 * Ratings from the whole ledger of matches: recomputed, never accumulated, so the order of matches does not matter.
 * Without a chain of games between two players nothing is known of their difference: each linked group is rated on its
 * own. `bradleyTerry` takes matches of two players, `plackettLuce` of two to four; the answer has one shape.
 */
export interface LadderOptions {
  /** The player whose rating is 0. */
  readonly zero?: string;
  /** Players whose ratings are given and never change. */
  readonly anchors?: Readonly<Record<string, number>>;
  readonly confidence?: number;
}

export interface Rating {
  readonly player: string;
  readonly elo: Interval;
  readonly standardError: number;
  readonly games: number;
  /** The mean share of first places; a draw gives each player an equal part. */
  readonly score: number;
  readonly anchored: boolean;
  /** The index of the linked group it belongs to. */
  readonly group: number;
}

export interface LadderGroup {
  readonly players: readonly string[];
  /** Whether an anchor fixes its ratings; otherwise their mean is 0, and they compare within the group only. */
  readonly anchored: boolean;
  /** Of the ratings, in Elo squared and in the order of `players`. */
  readonly covariance: readonly Float64Array[];
}

export interface Ladder {
  /** The largest group first, and the best player first within it. */
  readonly ratings: readonly Rating[];
  readonly groups: readonly LadderGroup[];
  readonly games: number;
}

/** Half a virtual draw for each pair that met: ratings stay finite where one side won everything. */
const PRIOR_DRAWS = 0.5;
export const MAX_PLAYERS = 1000;
const MAX_ANCHOR_ELO = 5000;

/** The Elo of each held player, by index. */
function heldBy({ zero, anchors = {} }: LadderOptions, indexOf: ReadonlyMap<string, number>): Map<number, number> {
  const held = new Map<number, number>();
  const hold = (player: string, elo: number) => {
    const index = indexOf.get(player);
    if (index === undefined)
      throw OperatingError.notFound(
        "UNKNOWN_PLAYER",
        `The anchor ${player} played no match.${didYouMean(player, indexOf.keys())}`,
      );
    checkFinite(elo, "ANCHOR", `The rating of the anchor ${player}`);
    if (Math.abs(elo) > MAX_ANCHOR_ELO)
      throw invalid(
        "ANCHOR",
        `The rating of the anchor ${player} must lie within ${MAX_ANCHOR_ELO} Elo of 0, not ${elo}.`,
      );
    if (held.has(index) && held.get(index) !== elo)
      throw invalid("ANCHOR", `${player} cannot be the zero and an anchor at ${elo}.`);
    held.set(index, elo);
  };
  if (zero !== undefined) hold(zero, 0);
  for (const [player, elo] of Object.entries(anchors)) hold(player, elo);
  return held;
}

const priorOf = (choices: readonly Choice[]): Choice[] => {
  const met = new Map<string, Choice>();
  for (const { members } of choices)
    for (const [seat, a] of members.entries())
      for (const b of members.slice(seat + 1))
        met.set(`${a},${b}`, { members: [a, b], wins: [PRIOR_DRAWS / 2, PRIOR_DRAWS / 2] });
  return [...met.values()];
};

/** Moves the mean of the group to 0, in ratings and in their errors. */
function centre(
  elo: Float64Array,
  covariance: readonly Float64Array[],
): { elo: Float64Array; covariance: Float64Array[] } {
  const size = elo.length;
  const mean = sumOf(elo) / size;
  const rowMeans = covariance.map((row) => sumOf(row) / size);
  const grand = sumOf(rowMeans) / size;
  return {
    elo: elo.map((value) => value - mean),
    covariance: covariance.map((row, i) => row.map((value, j) => value - rowMeans[i]! - rowMeans[j]! + grand)),
  };
}

/** The tally of one player: how many games, and how many first places in them. */
function talliesOf(matches: readonly Match[]): Map<string, { games: number; firsts: number }> {
  const tallies = new Map<string, { games: number; firsts: number }>();
  for (const match of matches) {
    const games = match.games ?? 1;
    const best = "ranks" in match ? Math.min(...match.ranks) : undefined;
    const isFirst = (player: string, seat: number) =>
      "ranks" in match ? match.ranks[seat] === best : match.winner === null || match.winner === player;
    const firsts = match.players.filter(isFirst).length;
    for (const [seat, player] of match.players.entries()) {
      const tally = tallies.get(player) ?? { games: 0, firsts: 0 };
      tallies.set(player, tally);
      tally.games += games;
      if (isFirst(player, seat)) tally.firsts += games / firsts;
    }
  }
  return tallies;
}

export function plackettLuce(matches: readonly Match[], options: LadderOptions = {}): Ladder {
  const confidence = options.confidence ?? 0.95;
  checkBetween(confidence, 0, 1, "CONFIDENCE", "The confidence");
  if (matches.length === 0) throw invalid("MATCHES", "There are no matches to rate.");
  for (const match of matches) checkMatch(match);
  const tallies = talliesOf(matches);
  const names = [...tallies.keys()].sort();
  if (names.length > MAX_PLAYERS)
    throw invalid("MATCHES", `${names.length} players are more than the ${MAX_PLAYERS} that a ladder holds.`);
  const indexOf = new Map(names.map((name, index) => [name, index]));
  const held = heldBy(options, indexOf);
  const played = mergeChoices(matches.flatMap((match) => choicesOf(match, (player) => indexOf.get(player)!)));
  const choices = [...played, ...priorOf(played)];

  const z = normalQuantile((1 + confidence) / 2);
  const ratings: Rating[] = [];
  const groups: LadderGroup[] = [];
  for (const [group, members] of linkedGroups(names.length, choices).entries()) {
    const place = new Map(members.map((member, at) => [member, at]));
    const local = choices
      .filter((choice) => place.has(choice.members[0]!))
      .map((choice) => ({ members: choice.members.map((member) => place.get(member)!), wins: choice.wins }));
    const fixed = new Map<number, number>();
    for (const [at, member] of members.entries()) if (held.has(member)) fixed.set(at, held.get(member)!);
    const anchored = fixed.size > 0;
    const pinned = new Map([...(anchored ? fixed : new Map([[0, 0]]))].map(([at, elo]) => [at, elo / ELO_PER_NAT]));
    const fit = fitStrengths(members.length, local, pinned);
    const inElo = {
      // An anchor keeps its Elo to the last digit: it does not go through another unit and back.
      elo: fit.strengths.map((strength, at) => fixed.get(at) ?? strength * ELO_PER_NAT),
      covariance: fit.covariance.map((row) => row.map((value) => value * ELO_PER_NAT ** 2)),
    };
    const { elo, covariance } = anchored ? inElo : centre(inElo.elo, inElo.covariance);
    const rated = members.map((member, at): Rating => {
      const player = names[member]!;
      const { games, firsts } = tallies.get(player)!;
      const estimate = elo[at]!;
      const standardError = Math.sqrt(Math.max(0, covariance[at]![at]!));
      const interval = { estimate, low: estimate - z * standardError, high: estimate + z * standardError };
      return { player, elo: interval, standardError, games, score: firsts / games, anchored: fixed.has(at), group };
    });
    ratings.push(...rated.toSorted((a, b) => b.elo.estimate - a.elo.estimate || (a.player < b.player ? -1 : 1)));
    groups.push({ players: members.map((member) => names[member]!), anchored, covariance });
  }
  return { ratings, groups, games: sumOf(matches, (match) => match.games ?? 1) };
}

export function bradleyTerry(matches: readonly Match[], options: LadderOptions = {}): Ladder {
  const other = matches.find((match) => match.players.length !== 2);
  if (other !== undefined)
    throw invalid(
      "MATCH",
      `Bradley-Terry rates matches of 2 players, not ${other.players.length}.`,
      "Use Plackett-Luce.",
    );
  return plackettLuce(matches, options);
}

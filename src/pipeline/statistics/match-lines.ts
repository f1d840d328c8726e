import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { invalid } from "./checks.ts";
import { checkMatch, MAX_SEATS, type Match } from "./match.ts";

/**
 * A ledger of matches as JSON Lines, one object a line. Two to four `players`, and one of:
 *   "winner": a name, or null for a draw     what happened; the order of the others is unknown
 *   "ranks": [1, 2, ...]                     the place of each player, equal places are ties
 *   "wins": [7, 2], "draws": 1               a tally of many games, wins in the order of the players
 * With `winner` or `ranks`, "games" says how often it happened. Other fields are ignored.
 */
const MAX_NAME = 200;

const schema = lazy(() =>
  z.object({
    players: z
      .array(
        z
          .string()
          .min(1)
          .max(MAX_NAME)
          .regex(/^\P{Cc}+$/u, "a name has no control characters"),
      )
      .min(2)
      .max(MAX_SEATS),
    winner: z.string().nullable().optional(),
    ranks: z.array(z.int().min(1)).optional(),
    wins: z.array(z.int().min(0)).optional(),
    draws: z.int().min(0).optional(),
    games: z.int().min(1).optional(),
  }),
);

const broken = (message: string) => invalid("MATCH", message, "See: ringrift stats ladder --help");

/** The matches of one line. Throws INVALID_MATCH; the caller knows the line's number. */
export function parseMatchLine(text: string): Match[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw broken("This is not JSON.");
  }
  const parsed = schema().safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw broken(`${issue.path.join(".") || "the line"}: ${issue.message}.`);
  }
  const { players, winner, ranks, wins, draws, games } = parsed.data;
  const forms = [winner, ranks, wins].filter((form) => form !== undefined).length;
  if (forms !== 1) throw broken(`Expected one of winner, ranks and wins, not ${forms} of them.`);
  if (draws !== undefined && wins === undefined) throw broken("draws goes with wins.");
  if (games !== undefined && wins !== undefined) throw broken("games does not go with wins, which are counts already.");
  const matches: Match[] = [];
  if (wins !== undefined) {
    if (wins.length !== players.length)
      throw broken(`${players.length} players need ${players.length} counts of wins, not ${wins.length}.`);
    for (const [seat, count] of wins.entries())
      if (count > 0) matches.push({ players, winner: players[seat]!, games: count });
    if (draws !== undefined && draws > 0) matches.push({ players, winner: null, games: draws });
    if (matches.length === 0) throw broken("There is no game in this tally.");
  } else if (ranks !== undefined) {
    matches.push({ players, ranks, games: games ?? 1 });
  } else {
    matches.push({ players, winner: winner ?? null, games: games ?? 1 });
  }
  for (const match of matches) checkMatch(match);
  return matches;
}

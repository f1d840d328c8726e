import { messageOf, OperatingError } from "../../kernel/index.ts";
import { invalid } from "./checks.ts";
import { MAX_PLAYERS } from "./ladder.ts";
import { checkMatch, type Match } from "./match.ts";
import { parseMatchLine } from "./match-lines.ts";

/** What a ledger may ask of the reader's memory. */
export interface LedgerLimits {
  readonly bytes: number;
  readonly lineBytes: number;
}

export const LEDGER_LIMITS: LedgerLimits = { bytes: 64 * 1024 * 1024, lineBytes: 64 * 1024 };

const NEWLINE = 10;
const HINT = 'A line looks like {"players":["net-7","mcts-100"],"winner":"net-7"}; see: ringrift stats ladder --help';

/** The lines of a stream with their numbers; one that is too long ends the reading before it fills the memory. */
async function* linesOf(
  stream: AsyncIterable<Uint8Array | string>,
  name: string,
  limits: LedgerLimits,
): AsyncGenerator<{ text: string; at: number }> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let pending: Buffer = Buffer.alloc(0);
  let bytes = 0;
  let at = 0;
  const finish = (line: Buffer): { text: string; at: number } => {
    at += 1;
    if (line.length > limits.lineBytes)
      throw OperatingError.invalid(
        "INVALID_MATCH_LINE",
        `${name}:${at}: the line is longer than ${limits.lineBytes} bytes.`,
      );
    try {
      return { text: decoder.decode(line).trim(), at };
    } catch (cause) {
      throw OperatingError.invalid("INVALID_MATCH_LINE", `${name}:${at}: the line is not UTF-8.`, { cause });
    }
  };
  for await (const piece of stream) {
    const chunk = Buffer.from(piece as Uint8Array);
    bytes += chunk.length;
    if (bytes > limits.bytes)
      throw OperatingError.invalid("INVALID_LEDGER", `${name} is larger than ${limits.bytes} bytes.`, {
        hint: 'Combine equal results into one line with "games" or "wins".',
      });
    let rest = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      yield finish(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
    if (rest.length > limits.lineBytes) finish(rest);
    pending = rest;
  }
  if (pending.length > 0) yield finish(pending);
}

/** The matches of a ledger in JSON Lines. Equal ones are counted together, so a long ledger of few players stays small. */
export async function readLedger(
  stream: AsyncIterable<Uint8Array | string>,
  name: string,
  limits: LedgerLimits = LEDGER_LIMITS,
): Promise<Match[]> {
  const distinct = new Map<string, Match>();
  const players = new Set<string>();
  for await (const { text, at } of linesOf(stream, name, limits)) {
    if (text === "") continue;
    try {
      for (const match of parseMatchLine(text)) {
        for (const player of match.players) players.add(player);
        if (players.size > MAX_PLAYERS) throw invalid("MATCH", `more than ${MAX_PLAYERS} different players.`);
        const key = JSON.stringify([match.players, "ranks" in match ? match.ranks : match.winner]);
        const merged = { ...match, games: (match.games ?? 1) + (distinct.get(key)?.games ?? 0) };
        checkMatch(merged);
        distinct.set(key, merged);
      }
    } catch (cause) {
      throw OperatingError.invalid("INVALID_MATCH_LINE", `${name}:${at}: ${messageOf(cause)}`, { cause, hint: HINT });
    }
  }
  return [...distinct.values()];
}

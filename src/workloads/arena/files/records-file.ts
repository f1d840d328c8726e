/**
 * Played games as lines of JSON, as `ringrift records export` writes them and as other programs may: `config_key`, `moves` in the
 * notation of the game or as numbers, `winner` from 1 or null for a draw, and a `seed` if there is one. They may come from anybody:
 * every game is played through by the rules, and one that is wrong spoils its file.
 */
import { createGame } from "../games/catalog.ts";
import type { Game } from "../games/game.ts";
import type { GameRecord } from "../play/self-play.ts";
import { corrupt, fileFault } from "./errors.ts";
import { faultOfGame } from "./games-content.ts";

const MAX_LINE_BYTES = 64 * 1_024;
const MAX_GAMES = 1_000_000;
const MAX_SEED = 0xffff_ffff;
/** A file of games holds moves as bytes. */
const MAX_MOVES = 256;

/** The rules that games are played through by. */
export const RULES_VERSION = "arena-1";

function* linesOf(bytes: Buffer): Iterable<{ readonly line: number; readonly text: string }> {
  let line = 0;
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(0x0a, at);
    const end = found < 0 ? bytes.length : found;
    line += 1;
    if (end - at > MAX_LINE_BYTES)
      throw fileFault(
        "ARENA_FILE_TOO_LARGE",
        `Line ${line} has ${end - at} bytes; at most ${MAX_LINE_BYTES} are read.`,
      );
    const text = bytes.toString("utf8", at, end).trim();
    if (text !== "") yield { line, text };
    at = end + 1;
  }
}

const moveIn = (game: Game, move: unknown): number => {
  const found = typeof move === "string" ? game.parseMove(move) : typeof move === "number" ? move : -1;
  return Number.isInteger(found) && found >= 0 && found < Math.min(game.moves, MAX_MOVES) ? found : -1;
};

function recordIn(game: Game, given: Readonly<Record<string, unknown>>, line: number): GameRecord {
  const { moves, winner, seed = 0 } = given;
  if (!Array.isArray(moves) || moves.length === 0) throw corrupt(`Line ${line} has no moves.`);
  if (moves.length > game.maxPlies)
    throw corrupt(`Line ${line} has ${moves.length} moves; a game has at most ${game.maxPlies}.`);
  const places = moves.map((move) => moveIn(game, move));
  const strange = places.indexOf(-1);
  if (strange >= 0)
    throw corrupt(
      `Line ${line} has the move ${JSON.stringify(moves[strange])?.slice(0, 50)}, which is none of the game.`,
    );
  const outcome = winner === null ? game.players : typeof winner === "number" ? winner - 1 : Number.NaN;
  if (
    !Number.isInteger(outcome) ||
    outcome < 0 ||
    outcome > game.players ||
    (winner !== null && outcome === game.players)
  )
    throw corrupt(`Line ${line} has no winner: a number from 1 to ${game.players}, or null for a draw.`);
  if (typeof seed !== "number" || !Number.isInteger(seed) || seed < 0 || seed > MAX_SEED)
    throw corrupt(`Line ${line} has a seed that is no whole number below 2^32.`);
  return { seed, outcome, moves: Uint8Array.from(places) };
}

/** The games of a file, by their config, in their order. */
export function decodeRecords(bytes: Buffer): ReadonlyMap<string, readonly GameRecord[]> {
  const found = new Map<string, { readonly game: Game; readonly games: GameRecord[] }>();
  let count = 0;
  for (const { line, text } of linesOf(bytes)) {
    count += 1;
    if (count > MAX_GAMES) throw fileFault("ARENA_FILE_TOO_LARGE", `The file has more than ${MAX_GAMES} games.`);
    let given: unknown;
    try {
      given = JSON.parse(text);
    } catch (cause) {
      throw corrupt(`Line ${line} is no JSON.`, cause);
    }
    if (typeof given !== "object" || given === null || Array.isArray(given))
      throw corrupt(`Line ${line} is no object.`);
    const { config_key: key } = given as { config_key?: unknown };
    if (typeof key !== "string") throw corrupt(`Line ${line} does not say its config_key.`);
    const own = found.get(key) ?? { game: createGame(key), games: [] };
    found.set(key, own);
    const record = recordIn(own.game, given as Readonly<Record<string, unknown>>, line);
    const fault = faultOfGame(own.game, record, own.game.newState());
    if (fault !== undefined) throw corrupt(`The game of line ${line} ${fault}.`);
    own.games.push(record);
  }
  if (count === 0) throw corrupt("The file holds no games.");
  return new Map([...found].map(([key, { games }]) => [key, games]));
}

/**
 * Plays in a thread of the browser, with the very code that commands play with: same seed, same moves. Files come by their hash, and are hashed
 * again here.
 */
import { defined, isOperatingError, OperatingError } from "../../src/kernel/index.ts";
import { getArtifact } from "../../src/surfaces/artifacts/wire.ts";
import { BASELINES, createBaseline } from "../../src/workloads/arena/baselines/catalog.ts";
import { boardOf, networkViews } from "../../src/workloads/arena/console/board.ts";
import { openTable, type Table } from "../../src/workloads/arena/console/table.ts";
import { decodeFrame } from "../../src/workloads/arena/files/frame.ts";
import { GAMES, gamesIn } from "../../src/workloads/arena/files/games-content.ts";
import { MODEL, modelIn } from "../../src/workloads/arena/files/model-content.ts";
import { CONFIG_KEYS, createGame } from "../../src/workloads/arena/games/catalog.ts";
import { type Game, isOver, type State } from "../../src/workloads/arena/games/game.ts";
import type { Network } from "../../src/workloads/arena/net/network.ts";
import { hexOf, sha256 } from "../../src/workloads/arena/numerics/sha256.ts";
import { DEFAULT_SEARCH } from "../../src/workloads/arena/search/puct.ts";
import { searchPlayer } from "../../src/workloads/arena/search/search-player.ts";
import { addressOf } from "./api.ts";
import type { ArenaAnswer, ArenaAsks, ArenaQuestion, GameAbout, Seen, TableWish } from "./arena-messages.ts";

/** The browser's own is faster, where the page is a secure one. */
const hashOf = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  hexOf(crypto.subtle === undefined ? sha256(bytes) : new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

async function fileOf(wanted: string): Promise<Uint8Array> {
  const response = await fetch(addressOf(getArtifact, { params: { sha256: wanted } }), {
    headers: { "x-ringrift-page": "1" },
  });
  if (!response.ok) {
    const { code, detail, hint } = (await response.json()) as { code: string; detail: string; hint?: string };
    throw OperatingError.unavailable(code, detail, { hint });
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  const found = await hashOf(bytes);
  if (found !== wanted)
    throw OperatingError.internal(
      "WRONG_HASH",
      `The file that came is ${found.slice(0, 12)}, not ${wanted.slice(0, 12)}.`,
      {
        hint: "Load the page again. If it stays so, run 'ringrift artifacts verify'.",
      },
    );
  return bytes;
}

const networks = new Map<string, Promise<Network>>();
/** A few models are kept: whoever plays again plays the same ones. */
const MAX_NETWORKS = 4;

function networkOf(game: Game, wanted: string): Promise<Network> {
  const key = `${game.configKey} ${wanted}`;
  const known = networks.get(key);
  if (known !== undefined) return known;
  const reading = fileOf(wanted).then(
    (bytes) => modelIn(decodeFrame(bytes, MODEL.kind, MODEL.version, sha256), game).network,
  );
  networks.set(key, reading);
  reading.catch(() => networks.delete(key));
  for (const old of [...networks.keys()].slice(0, -MAX_NETWORKS)) networks.delete(old);
  return reading;
}

const aboutOf = ({ title, rules, players, rows, columns }: Game): GameAbout => ({
  title,
  rules,
  players,
  rows,
  columns,
});

interface Seat {
  readonly game: Game;
  readonly table: Table;
  readonly see: ((state: State) => Seen["view"]) | undefined;
}

/** The position after moves, as people and networks see it. */
function seenAfter(game: Game, moves: readonly string[], see: Seat["see"]): Seen {
  const state = game.newState();
  let last: number | null = null;
  for (const [i, text] of moves.entries()) {
    if (i === moves.length - 1) last = boardOf(game, state).legal.find((legal) => legal.text === text)?.cell ?? null;
    game.play(state, game.parseMove(text));
  }
  return { ...boardOf(game, state), moves, last, view: see?.(state) ?? null };
}

const seenAt = ({ game, table, see }: Seat): Seen => seenAfter(game, table.moves(), see);

async function sitDown({ configKey, seat, opponent, simulations, seed, moves = [] }: TableWish): Promise<Seat> {
  const game = createGame(configKey);
  if (!Number.isInteger(seat) || seat < 0 || seat >= game.players)
    throw OperatingError.invalid("INVALID_SEAT", `${game.title} has seats 1 to ${game.players}.`);
  const network = opponent.kind === "model" ? await networkOf(game, opponent.sha256) : undefined;
  const sit = () =>
    opponent.kind === "baseline"
      ? createBaseline(opponent.name, game)
      : searchPlayer("model", game, network!, { ...DEFAULT_SEARCH, ...defined({ simulations }) });
  const opponents = Array.from({ length: game.players - 1 }, sit);
  const table = openTable(game, seat, opponents, seed, moves);
  return { game, table, see: network === undefined ? undefined : networkViews(game, network) };
}

let seat: Seat | undefined;
const atTable = (): Seat => {
  if (seat === undefined) throw OperatingError.conflict("NO_GAME", "No game was begun.");
  return seat;
};

const answers: { [K in keyof ArenaAsks]: (ask: ArenaAsks[K]["ask"]) => Promise<ArenaAsks[K]["answer"]> } = {
  about: async () => ({ configs: CONFIG_KEYS, baselines: BASELINES }),
  async open(wish) {
    seat = await sitDown(wish);
    return { about: aboutOf(seat.game), seen: seenAt(seat) };
  },
  play: async ({ move }) => (atTable().table.play(move) ? seenAt(atTable()) : undefined),
  reply: async () => ({ move: atTable().table.reply(), seen: seenAt(atTable()) }),
  async undo() {
    atTable().table.undo();
    return seenAt(atTable());
  },
  async games({ sha256: wanted }) {
    const { configKey, games } = gamesIn(decodeFrame(await fileOf(wanted), GAMES.kind, GAMES.version, sha256));
    const { players } = createGame(configKey);
    return {
      configKey,
      games: games.map(({ seed, moves, outcome }) => ({
        seed,
        plies: moves.length,
        winner: outcome < players ? outcome : null,
      })),
    };
  },
  async replay({ sha256: wanted, game: place, model }) {
    const { configKey, games } = gamesIn(decodeFrame(await fileOf(wanted), GAMES.kind, GAMES.version, sha256));
    const record = games[place];
    if (record === undefined)
      throw OperatingError.notFound("RECORD_NOT_FOUND", `The file holds games 0 to ${games.length - 1}.`);
    const game = createGame(configKey);
    const see = model === null ? undefined : networkViews(game, await networkOf(game, model));
    const state = game.newState();
    const moves: string[] = [];
    const steps: Seen[] = [{ ...boardOf(game, state), moves: [], last: null, view: see?.(state) ?? null }];
    for (const move of record.moves) {
      if (isOver(state) || !game.isLegal(state, move))
        throw OperatingError.internal("ARENA_FILE_CORRUPT", `Game ${place} has an illegal move.`);
      const text = game.formatMove(move);
      const last = steps.at(-1)!.legal.find((legal) => legal.text === text)?.cell ?? null;
      game.play(state, move);
      moves.push(text);
      steps.push({ ...boardOf(game, state), moves: [...moves], last, view: see?.(state) ?? null });
    }
    return { about: aboutOf(game), configKey, seed: record.seed, steps };
  },
};

const refusalOf = (thrown: unknown) =>
  isOperatingError(thrown)
    ? { code: thrown.code, message: thrown.message, hint: thrown.hint }
    : { code: "INTERNAL", message: thrown instanceof Error ? thrown.message : String(thrown) };

/** One question after the other: a table has one state. */
let before: Promise<unknown> = Promise.resolve();
addEventListener("message", ({ data }: MessageEvent<ArenaQuestion>) => {
  const { id, kind, ...ask } = data;
  const answer = async (): Promise<void> => {
    try {
      postMessage({ id, answer: await answers[kind](ask as never) } satisfies ArenaAnswer);
    } catch (thrown) {
      postMessage({ id, refused: refusalOf(thrown) } satisfies ArenaAnswer);
    }
  };
  before = before.then(answer);
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { type CliIo, shortModel } from "../../surfaces/commands/index.ts";
import type { ArenaConsole, Table } from "../../workloads/arena/index.ts";

/** The models that the loop of the data folder has made. */
export interface ChampionsPort {
  /** The champion of a config with the bytes of its file; undefined where there is none. */
  champion(
    configKey: string,
  ): Promise<{ readonly model: string; readonly generation: number; readonly bytes: Uint8Array } | undefined>;
}

/** What the command asks of the arena. */
export type Arena = Pick<ArenaConsole, "baselines" | "defaultConfigKey" | "open">;

/** Who plays the person: a baseline, or a model from a file. */
type Opponent = Pick<Parameters<ArenaConsole["open"]>[0], "baseline" | "modelPath" | "simulations">;

interface PlayOptions {
  readonly against?: string;
  readonly model?: string;
  readonly simulations: string;
  readonly seat: string;
  readonly seed: string;
  readonly json?: boolean;
}

const CHAMPION = "champion";
const USUAL_BASELINE = "mcts-1000";
const STONES = ["X", "O", "A", "B"];
const HELP = "Type a move, `moves` for the legal ones, `undo` to take back, `quit` to leave.";

const whole = (name: string, text: string, least: number, most: number): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw OperatingError.invalid(
      `INVALID_${name.toUpperCase()}`,
      `--${name} is a whole number from ${least} to ${most}, not "${text}".`,
    );
  return value;
};

/** How the conversation is told: in words and boards to a person, in lines of JSON to a program. */
interface Teller {
  position(table: Table): void;
  moved(table: Table, seat: number, move: string): void;
  refused(table: Table, text: string): void;
  said(text: string): void;
  opponent(name: string, model: string): void;
  ended(table: Table, finished: boolean): void;
}

const nameOf = (table: Table, seat: number): string => `${STONES[seat]}${seat === table.seat ? " (you)" : ""}`;

const inWords = (io: CliIo): Teller => ({
  position(table) {
    io.out(`\n${table.draw()}\n`);
    if (!table.isOver()) io.out(`${nameOf(table, table.turn())} to move> `);
  },
  moved: (table, seat, move) => io.out(`${nameOf(table, seat)} plays ${move}\n`),
  refused: (table, text) => io.out(`"${text}" is no legal move. Legal: ${table.legalMoves().join(" ")}\n`),
  said: (text) => io.out(`${text}\n`),
  opponent: (name, model) => io.out(`You play against ${name} (${shortModel(model)}).\n`),
  ended(table, finished) {
    const winner = table.winner();
    if (!finished) io.out("\nGame left.\n");
    else if (winner === undefined) io.out("A draw.\n");
    else io.out(winner === table.seat ? "You win.\n" : `${STONES[winner]} wins.\n`);
  },
});

const inJson = (io: CliIo): Teller => {
  const line = (value: object) => io.out(`${JSON.stringify(value)}\n`);
  return {
    position: (table) =>
      line({
        type: "position",
        board: table.draw(),
        to_move: table.turn() + 1,
        your_turn: !table.isOver() && table.turn() === table.seat,
        legal_moves: table.legalMoves(),
      }),
    moved: (_table, seat, move) => line({ type: "move", seat: seat + 1, move }),
    refused: (table, text) => line({ type: "refused", text, legal_moves: table.legalMoves() }),
    said: (text) => line({ type: "note", text }),
    opponent: (name, model) => line({ type: "opponent", name, model }),
    ended(table, finished) {
      const winner = table.winner();
      const result = !finished ? "left" : winner === undefined ? "draw" : winner === table.seat ? "won" : "lost";
      line({ type: "end", result, winner: winner === undefined ? null : winner + 1, moves: table.moves() });
    },
  };
};

/** Lets the opponents play until the person is at turn, then shows the board. */
function advance(table: Table, teller: Teller): void {
  while (!table.isOver() && table.turn() !== table.seat) {
    const seat = table.turn();
    teller.moved(table, seat, table.reply());
  }
  teller.position(table);
}

/** One line of the person; answers whether she stays. */
function hear(table: Table, teller: Teller, line: string): boolean {
  const text = line.trim();
  const word = text.toLowerCase();
  if (word === "quit" || word === "exit" || word === "q") return false;
  if (word === "") return true;
  if (word === "help" || word === "?") teller.said(HELP);
  else if (word === "moves") teller.said(`Legal: ${table.legalMoves().join(" ")}`);
  else if (word === "undo") {
    if (!table.undo()) teller.said("There is nothing to take back.");
  } else if (!table.play(text)) teller.refused(table, text);
  advance(table, teller);
  return true;
}

/** The arena reads models from files; this one lasts as long as it takes to read it. */
async function withModelFile<T>(bytes: Uint8Array, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "ringrift-play-"));
  try {
    const path = join(folder, "model");
    await writeFile(path, bytes, { mode: 0o600 });
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Sits down at the table: with the model or baseline that was named, else with the champion, else with the usual baseline. */
async function sitDown(
  { model, against }: PlayOptions,
  configKey: string,
  simulations: number,
  champions: ChampionsPort | undefined,
  open: (opponent: Opponent) => Promise<Table>,
): Promise<{ readonly table: Table; readonly champion?: { readonly name: string; readonly model: string } }> {
  if (model !== undefined) return { table: await open({ modelPath: model, simulations }) };
  if (against !== undefined && against !== CHAMPION) return { table: await open({ baseline: against }) };
  const found = await champions?.champion(configKey);
  if (found !== undefined) {
    const table = await withModelFile(found.bytes, (modelPath) => open({ modelPath, simulations }));
    return { table, champion: { name: `champion ${found.generation}`, model: found.model } };
  }
  if (against === CHAMPION)
    throw OperatingError.notFound("CHAMPION_NOT_FOUND", `there is no champion of ${configKey} in this data folder`, {
      hint: "'ringrift up' trains one; --data-dir chooses the folder.",
    });
  return { table: await open({ baseline: USUAL_BASELINE }) };
}

export function registerPlay(command: Command, io: CliIo, arena: Arena, champions?: ChampionsPort): void {
  command
    .argument("[config_key]", "which game", arena.defaultConfigKey)
    .option(
      "--against <opponent>",
      `${CHAMPION}, or one of ${arena.baselines.join(", ")}; the champion if there is one, else ${USUAL_BASELINE}`,
    )
    .option("--model <file>", "play against this model file instead")
    .option("--simulations <n>", "how long a model thinks about a move", "200")
    .option("--seat <n>", "your seat; 1 moves first", "1")
    .option("--seed <n>", "the same seed and moves give the same game", "1")
    .option("--json", "speak in lines of JSON")
    .action(async (configKey: string, options: PlayOptions) => {
      const seed = whole("seed", options.seed, 0, 0xffffffff);
      const seat = whole("seat", options.seat, 1, STONES.length) - 1;
      const simulations = whole("simulations", options.simulations, 1, 100_000);
      const open = (opponent: Opponent) => arena.open({ configKey, seat, seed, ...opponent });
      const { table, champion } = await sitDown(options, configKey, simulations, champions, open).catch(
        (thrown: unknown) => {
          const { code, message } = thrown as NodeJS.ErrnoException;
          if (isOperatingError(thrown) || code === undefined || options.model === undefined) throw thrown;
          throw OperatingError.invalid("INVALID_OPTION", `--model cannot be read: ${message}`, { cause: thrown });
        },
      );
      const teller = options.json ? inJson(io) : inWords(io);
      if (!options.json) io.out(`${table.title}\n${table.rules}\nYou are ${STONES[seat]}. ${HELP}\n`);
      if (champion !== undefined) teller.opponent(champion.name, champion.model);
      advance(table, teller);
      const lines = createInterface({ input: io.stdin, signal: io.signal });
      for await (const line of lines) {
        if (table.isOver() || !hear(table, teller, line)) break;
        if (table.isOver()) break;
      }
      lines.close();
      teller.ended(table, table.isOver());
    });
}

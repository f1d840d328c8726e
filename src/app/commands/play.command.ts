import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { type CliIo, shortModel } from "../../surfaces/commands/index.ts";
import type { PlayTable, TableRequest } from "./play/play-table.ts";
import type { Tables } from "./play/tables.ts";

/** The models that the loop of the data folder has made. */
export interface ChampionsPort {
  /** The champion of a config with the bytes of its file; undefined where there is none. */
  champion(
    configKey: string,
  ): Promise<{ readonly model: string; readonly generation: number; readonly bytes: Uint8Array } | undefined>;
}

/** Who plays the person: a baseline, or a model from a file. */
type Opponent = Pick<TableRequest, "baseline" | "modelPath" | "simulations">;

interface PlayOptions {
  readonly against?: string;
  readonly model?: string;
  readonly simulations: string;
  readonly seat: string;
  readonly seed: string;
  readonly json?: boolean;
}

const CHAMPION = "champion";
const STONES = ["X", "O", "A", "B"];
const MAX_SEATS = 16;
/** How a seat is called; games of others may have more of them than there are letters. */
const stoneOf = (seat: number): string => STONES[seat] ?? `player ${seat + 1}`;
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
  position(table: PlayTable): void;
  moved(table: PlayTable, seat: number, move: string): void;
  refused(table: PlayTable, text: string): void;
  said(text: string): void;
  opponent(name: string, model: string): void;
  ended(table: PlayTable, finished: boolean): void;
}

const nameOf = (table: PlayTable, seat: number): string => `${stoneOf(seat)}${seat === table.seat ? " (you)" : ""}`;

const inWords = (io: CliIo): Teller => ({
  position(table) {
    io.out(`\n${table.draw()}\n`);
    if (!table.isOver()) io.out(`${nameOf(table, table.turn())} to move> `);
  },
  moved: (table, seat, move) => io.out(`${nameOf(table, seat)} plays ${move}\n`),
  refused: (table, text) => io.out(`"${text}" is not a legal move. Legal: ${table.legalMoves().join(" ")}\n`),
  said: (text) => io.out(`${text}\n`),
  opponent: (name, model) => io.out(`You play against ${name} (${shortModel(model)}).\n`),
  ended(table, finished) {
    const winner = table.winner();
    if (!finished) io.out("\nGame left.\n");
    else if (winner === undefined) io.out("A draw.\n");
    else io.out(winner === table.seat ? "You win.\n" : `${stoneOf(winner)} wins.\n`);
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
async function advance(table: PlayTable, teller: Teller): Promise<void> {
  while (!table.isOver() && table.turn() !== table.seat) {
    const seat = table.turn();
    teller.moved(table, seat, await table.reply());
  }
  teller.position(table);
}

/** One line of the person; answers whether she stays. */
async function hear(table: PlayTable, teller: Teller, line: string): Promise<boolean> {
  const text = line.trim();
  const word = text.toLowerCase();
  if (word === "quit" || word === "exit" || word === "q") return false;
  if (word === "") return true;
  if (word === "help" || word === "?") teller.said(HELP);
  else if (word === "moves") teller.said(`Legal: ${table.legalMoves().join(" ")}`);
  else if (word === "undo") {
    if (!(await table.undo())) teller.said("There is nothing to take back.");
  } else if (!(await table.play(text))) teller.refused(table, text);
  await advance(table, teller);
  return true;
}

/** A folder that lasts as long as the game: programs read models from files. */
async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "ringrift-play-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Sits down at the table: with the model or baseline that was named, else with the champion, else with the usual baseline. */
async function sitDown(
  { model, against }: PlayOptions,
  configKey: string,
  simulations: number,
  { champions, tables, folder }: { champions: ChampionsPort | undefined; tables: Tables; folder: string },
  open: (opponent: Opponent) => Promise<PlayTable>,
): Promise<{ readonly table: PlayTable; readonly champion?: { readonly name: string; readonly model: string } }> {
  if (model !== undefined) return { table: await open({ modelPath: model, simulations }) };
  if (against !== undefined && against !== CHAMPION) return { table: await open({ baseline: against }) };
  const found = await champions?.champion(configKey);
  if (found !== undefined) {
    const modelPath = join(folder, "model");
    await writeFile(modelPath, found.bytes, { mode: 0o600 });
    return {
      table: await open({ modelPath, simulations }),
      champion: { name: `champion ${found.generation}`, model: found.model },
    };
  }
  if (against === CHAMPION)
    throw OperatingError.notFound("CHAMPION_NOT_FOUND", `there is no champion of ${configKey} in this data folder`, {
      hint: "'ringrift up' trains one; --data-dir chooses the folder.",
    });
  const baseline = tables.usualBaseline(configKey);
  if (baseline === undefined)
    throw OperatingError.notFound(
      "OPPONENT_NOT_FOUND",
      `there is no champion of ${configKey} yet, and no baseline with a name`,
      {
        hint: "Train one, or name the baselines of its workload in ringrift.config.json.",
      },
    );
  return { table: await open({ baseline }) };
}

/** One game, from the first move to the last. */
async function playGame(table: PlayTable, teller: Teller, io: CliIo): Promise<void> {
  await advance(table, teller);
  const lines = createInterface({ input: io.stdin, signal: io.signal });
  for await (const line of lines) {
    if (table.isOver() || !(await hear(table, teller, line))) break;
    if (table.isOver()) break;
  }
  lines.close();
  teller.ended(table, table.isOver());
}

export function registerPlay(command: Command, io: CliIo, tables: Tables, champions?: ChampionsPort): void {
  command
    .argument("[config_key]", "which game", tables.defaultConfigKey)
    .option(
      "--against <opponent>",
      `${CHAMPION}, one of ${tables.baselines.join(", ")}, or a baseline of your workload; the champion if there is one`,
    )
    .option("--model <file>", "play against this model file instead")
    .option("--simulations <n>", "simulations per move of a model", "200")
    .option("--seat <n>", "your seat; 1 moves first", "1")
    .option("--seed <n>", "the same seed and moves give the same game", "1")
    .option("--json", "read and write lines of JSON")
    .action((configKey: string, options: PlayOptions) =>
      inFolder(async (folder) => {
        const seed = whole("seed", options.seed, 0, 0xffffffff);
        const seat = whole("seat", options.seat, 1, MAX_SEATS) - 1;
        const simulations = whole("simulations", options.simulations, 1, 100_000);
        const open = (opponent: Opponent) => tables.open({ configKey, seat, seed, ...opponent }, folder);
        const { table, champion } = await sitDown(
          options,
          configKey,
          simulations,
          { champions, tables, folder },
          open,
        ).catch((thrown: unknown) => {
          const { code, message } = thrown as NodeJS.ErrnoException;
          if (isOperatingError(thrown) || code === undefined || options.model === undefined) throw thrown;
          throw OperatingError.invalid("INVALID_OPTION", `--model cannot be read: ${message}`, { cause: thrown });
        });
        try {
          const teller = options.json ? inJson(io) : inWords(io);
          if (!options.json) io.out(`${table.title}\n${table.rules}\nYou are ${stoneOf(seat)}. ${HELP}\n`);
          if (champion !== undefined) teller.opponent(champion.name, champion.model);
          await playGame(table, teller, io);
        } finally {
          await table.close?.();
        }
      }),
    );
}

import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import type { CliIo } from "./io.ts";

/** What these commands need to know about games; the arena gives it, through the composition root. */
export interface GamesPort {
  list(): readonly GameRow[];
  show(configKey: string): GameRow & {
    readonly rules: string;
    readonly most_plies: number;
    readonly symmetries: readonly string[];
    readonly example_moves: readonly string[];
    readonly network_inputs: number;
    readonly network_weights: number;
    readonly drawing: string;
  };
  perft(configKey: string, depth: number): number;
}

interface GameRow {
  readonly config_key: string;
  readonly title: string;
  readonly players: number;
  readonly board: string;
  readonly moves: number;
  readonly is_default: boolean;
}

const MOST_DEPTH = 20;

const depthOf = (text: string): number => {
  const depth = Number(text);
  if (!/^\d+$/.test(text) || depth < 1 || depth > MOST_DEPTH)
    throw new OperatingError("INVALID_DEPTH", `A depth is a whole number from 1 to ${MOST_DEPTH}, not "${text}".`, {
      hint: "Each ply multiplies the work by the number of moves; 8 is a good start.",
    });
  return depth;
};

const table = (rows: readonly (readonly string[])[]): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((text, i) => text.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
};

export function registerGames(program: Command, io: CliIo, games: GamesPort): void {
  const command = program.command("games").description("the built-in games");
  const print = (value: unknown) => io.out(`${JSON.stringify(value)}\n`);

  command
    .command("list")
    .description("list the built-in games")
    .option("--json", "print JSON")
    .action(({ json }: { json?: boolean }) => {
      const rows = games.list();
      if (json) return print(rows);
      const line = (row: GameRow) => [
        row.config_key + (row.is_default ? " *" : ""),
        row.title,
        String(row.players),
        row.board,
        String(row.moves),
      ];
      io.out(`${table([["CONFIG KEY", "GAME", "PLAYERS", "BOARD", "MOVES"], ...rows.map(line)])}\n\n* the default\n`);
    });

  command
    .command("show")
    .description("show one game: rules, notation, the opening position")
    .argument("<config_key>", "which game, such as othello6_2p")
    .option("--json", "print JSON")
    .action((configKey: string, { json }: { json?: boolean }) => {
      const game = games.show(configKey);
      if (json) return print(game);
      io.out(
        `${[
          `${game.title} (${game.config_key})`,
          game.rules,
          "",
          game.drawing,
          "",
          `players     ${game.players}`,
          `longest     ${game.most_plies} plies`,
          `moves       ${game.moves}, such as ${game.example_moves.join(" ")}`,
          `symmetries  ${game.symmetries.length}: ${game.symmetries.join(", ")}`,
          `network     ${game.network_inputs} table rows a position, ${game.network_weights} weights`,
        ].join("\n")}\n`,
      );
    });

  command
    .command("perft")
    .description("count the ways to play so many plies: the proof of a move generator")
    .argument("<config_key>", "which game, such as othello8_2p")
    .argument("<depth>", "how many plies")
    .option("--json", "print JSON")
    .action(async (configKey: string, depthText: string, { json }: { json?: boolean }) => {
      const depth = depthOf(depthText);
      const counts: number[] = [];
      for (let ply = 1; ply <= depth && !io.signal.aborted; ply += 1) {
        const count = games.perft(configKey, ply);
        counts.push(count);
        if (!json) io.out(`${String(ply).padStart(3)}  ${count}\n`);
        // Between two depths the process may take note of a signal.
        await new Promise((resume) => setImmediate(resume));
      }
      if (json) print({ config_key: configKey, counts, complete: counts.length === depth });
    });
}

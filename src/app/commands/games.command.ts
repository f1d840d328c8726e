import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import { answer, type Shell, tableLines } from "../../surfaces/commands/index.ts";
import type { ArenaConsole } from "../../workloads/arena/index.ts";

/** What these commands ask of the arena. */
export type Games = Pick<ArenaConsole, "list" | "show" | "perft">;

const MAX_DEPTH = 20;

const depthIn = (text: string): number => {
  const depth = Number(text);
  if (!/^\d+$/.test(text) || depth < 1 || depth > MAX_DEPTH)
    throw OperatingError.invalid("INVALID_DEPTH", `A depth is a whole number from 1 to ${MAX_DEPTH}, not "${text}".`, {
      hint: "Each ply multiplies the work by the number of moves; 8 is a good start.",
    });
  return depth;
};

export function registerGames(command: Command, shell: Shell, games: Games): void {
  command
    .command("list")
    .description("list the built-in games")
    .action(() => {
      const rows = games.list();
      answer(shell, rows, () => {
        const cells = rows.map((row) => [
          row.config_key + (row.is_default ? " *" : ""),
          row.title,
          String(row.players),
          row.board,
          String(row.moves),
        ]);
        const head = ["CONFIG KEY", "GAME", "PLAYERS", "BOARD", "MOVES"];
        return [...tableLines([head, ...cells], { width: Infinity }), "", "* the default"];
      });
    });

  command
    .command("show")
    .description("show one game: rules, notation, the opening position")
    .argument("<config_key>", "which game, such as othello6_2p")
    .action((configKey: string) => {
      const game = games.show(configKey);
      answer(shell, game, () => [
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
      ]);
    });

  command
    .command("perft")
    .description("count the ways to play this many plies, to test a move generator")
    .argument("<config_key>", "which game, such as othello8_2p")
    .argument("<depth>", "how many plies", depthIn)
    .action(async (configKey: string, depth: number) => {
      const counts: number[] = [];
      for (let ply = 1; ply <= depth && !shell.io.signal.aborted; ply += 1) {
        const count = games.perft(configKey, ply);
        counts.push(count);
        if (!shell.json) shell.say(`${String(ply).padStart(3)}  ${count}`);
        // Between two depths the process may take note of a signal.
        await new Promise((resume) => setImmediate(resume));
      }
      answer(shell, { config_key: configKey, counts, complete: counts.length === depth }, () => []);
    });
}

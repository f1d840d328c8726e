import type { Command } from "commander";
import { askMain } from "../cli/main-process.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { printable } from "../cli/text.ts";
import { commandOf } from "./view.ts";

/** `ringrift find`: what has this name, and the command that shows it. */
export function registerFind(command: Command, shell: Shell): void {
  command
    .argument("<text>", "a name, an id, or a part of one: w17, 5b6ec061fbef, othello6_2p, node-1")
    .action((text: string) =>
      askMain(shell.main, async (main) => {
        const { findAnything } = await import("./wire.ts");
        const raw = await main.raw(findAnything, { query: { text } });
        const { found } = main.read(findAnything, raw);
        const rows = found.map((one) => [one.kind, printable(one.label), shell.paint.dim(printable(commandOf(one)))]);
        answer(shell, raw, () =>
          rows.length === 0
            ? `nothing here is called '${printable(text)}'`
            : tableLines([["KIND", "WHAT", "LOOK AT IT"], ...rows], shell),
        );
        if (found.length === 0) throw negative();
      }),
    );
}

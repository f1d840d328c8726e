import type { Command } from "commander";
import { askMain } from "../cli/main-process.ts";
import { answer, type Shell } from "../cli/shell.ts";
import { resourceLines } from "./view.ts";
import { getResources } from "./wire.ts";

/** `ringrift resources`: what each process takes of the machine. */
export function registerResources(command: Command, shell: Shell): void {
  command.action(() =>
    askMain(shell.main, async (main) => {
      const raw = await main.raw(getResources);
      answer(shell, raw, () => resourceLines(main.read(getResources, raw), shell));
    }),
  );
}

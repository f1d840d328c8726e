import type { Command } from "commander";
import type { Lineage } from "../http/ports.ts";
import { lineageLines } from "./lineage-view.ts";
import { askMain } from "./main-process.ts";
import type { Shell } from "./shell.ts";

/** `ringrift trace`: the lineage of what the loop makes. Of events `ringrift events trace` tells. */
export function registerTrace(program: Command, shell: Shell): void {
  program
    .command("trace")
    .description("where a game, a file, a model or a job comes from, and what came of it; for events: 'events trace'")
    .argument("<id>", "the id of a game, a hash, or the id of a job as in w17")
    .action((id: string) =>
      askMain(shell.main, async (main) => {
        const lineage = await main.get<Lineage>(`/v1/trace/${encodeURIComponent(id)}`);
        if (shell.json) return shell.print(lineage);
        for (const line of lineageLines(lineage, shell)) shell.say(line);
      }),
    );
}

import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { lineageLines } from "./lineage-view.ts";
import { getLineage } from "./wire.ts";

/** `ringrift trace`: the lineage of what the loop makes. Of events `ringrift events trace` tells. */
export function registerTrace(command: Command, shell: Shell): void {
  command
    .argument("<id>", "a game (5b6ec061fbef#17), a hash, or a job (w17)")
    .action((id: string) =>
      showAnswer(shell, getLineage, { params: { id } }, (lineage) => lineageLines(lineage, shell)),
    );
}

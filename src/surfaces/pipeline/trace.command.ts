import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { lineageLines } from "./lineage-view.ts";
import { getLineage } from "./wire.ts";

/** `ringrift trace`: the lineage of what the loop makes. Of events `ringrift events trace` tells. */
export function registerTrace(command: Command, shell: Shell): void {
  command
    .argument("<id>", "the id of a game as in 5b6ec061fbef#17, a hash, or the id of a job as in w17")
    .action((id: string) =>
      showAnswer(shell, getLineage, { params: { id } }, (lineage) => lineageLines(lineage, shell)),
    );
}

import type { Command } from "commander";
import { RUNGS, type Rung } from "../../cluster/recovery/rungs.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { oneOf, sentence, wholeNumber } from "../cli/values.ts";
import { historyLines, planLines, wishLine } from "./view.ts";
import { planRecovery, recoveryHistory, runRecovery } from "./wire.ts";

interface RunOptions {
  readonly rung?: Rung;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** `ringrift recovery`: what is done for nodes that are ill. */
export function registerRecovery(recovery: Command, shell: Shell): void {
  recovery
    .command("plan", { isDefault: true })
    .description("show the nodes that are ill and what would be done for each now; 'ringrift recovery' does the same")
    .action(() => showAnswer(shell, planRecovery, {}, (plan) => planLines(plan, shell)));
  recovery
    .command("run")
    .description(
      "have the next step of repair done now for an ill node; it is refused while jobs there make progress or files lie nowhere else",
    )
    .argument("<node>", "its id, or its label if that is unique")
    .option(
      "--rung <step>",
      `this step instead: ${RUNGS.join(", ")}; observe takes the node for well again`,
      oneOf("--rung", RUNGS),
    )
    .option("--reason <text>", "the reason; it is kept with the act", sentence("--reason"))
    .option("--dry-run", "only show what would be done")
    .action((id: string, { rung, reason, dryRun: dry_run }: RunOptions) =>
      showAnswer(shell, runRecovery, { params: { id }, body: { rung, reason, dry_run } }, wishLine),
    );
  recovery
    .command("history")
    .description("show what was done for ill nodes, newest first, with what came of it")
    .option("--node <node>", "only for this node")
    .option("--limit <n>", "list at most this many", wholeNumber("--limit", 1, 1_000), 50)
    .action(({ node, limit }: { node?: string; limit: number }) =>
      showAnswer(shell, recoveryHistory, { query: { node, limit } }, (found) => historyLines(found, shell)),
    );
}

import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { ago, printable } from "../cli/text.ts";
import { wholeNumber } from "../cli/values.ts";
import type { Answer } from "../http/wire.ts";
import { listWrites } from "./wire.ts";

type Write = Answer<typeof listWrites>["writes"][number];

const resultOf = ({ status, dry_run }: Write, { paint }: Shell): string => {
  if (status >= 400) return paint.red(`refused (${status})`);
  return dry_run ? paint.yellow("dry run") : paint.green("done");
};

function writeLines(writes: readonly Write[], shell: Shell): string[] {
  const now = shell.clock.now();
  const rows = writes.map((write) => [
    ago(write.at, now),
    printable(write.actor),
    resultOf(write, shell),
    `${write.method} ${printable(write.path)}`,
    printable(write.reason ?? ""),
  ]);
  return tableLines([["WHEN", "WHO", "RESULT", "WHAT", "REASON"], ...rows], shell);
}

/** `ringrift writes`: the record of what was changed through the surface. */
export function registerWrites(command: Command, shell: Shell): void {
  command
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .action(({ limit }: { limit: number }) =>
      showAnswer(shell, listWrites, { query: { limit } }, ({ writes }) =>
        writes.length === 0 ? "nothing was changed through the API yet" : writeLines(writes, shell),
      ),
    );
}

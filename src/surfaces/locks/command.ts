import type { Command } from "commander";
import { defaultList, showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { right, tableLines } from "../cli/table.ts";
import { ago, duration, printable } from "../cli/text.ts";
import { sentence } from "../cli/values.ts";
import { breakLock, type ListedLock, listLocks } from "./wire.ts";

function lockLines(locks: readonly ListedLock[], shell: Shell): string[] {
  const now = shell.clock.now();
  const rows = locks.map((lock) => [
    printable(lock.name),
    printable(lock.holder),
    right(String(lock.fence)),
    ago(lock.acquired_at, now),
    lock.left_seconds > 0 ? `in ${duration(lock.left_seconds * 1_000)}` : shell.paint.yellow("lapsed"),
    lock.waiting.length === 0 ? shell.paint.dim("nobody") : printable(lock.waiting.join(", ")),
  ]);
  return tableLines([["LOCK", "HOLDER", right("FENCE"), "TAKEN", "ENDS", "WAITING"], ...rows], shell);
}

/** `ringrift locks`: which names are taken, by whom, and who waits. */
export function registerLocks(locks: Command, shell: Shell): void {
  defaultList(locks, "list the locks that somebody holds; 'ringrift locks' does the same").action(() =>
    showAnswer(shell, listLocks, {}, ({ locks: listed }) =>
      listed.length === 0 ? "nobody holds a lock" : lockLines(listed, shell),
    ),
  );
  locks
    .command("break")
    .description("take a lock away from its holder; the holder's fence is refused from then on")
    .argument("<name>", "the name of the lock")
    .requiredOption("--reason <text>", "the reason; it is recorded", sentence("--reason"))
    .option("--dry-run", "only show what would change")
    .action((name: string, { reason, dryRun }: { reason: string; dryRun?: boolean }) =>
      showAnswer(
        shell,
        breakLock,
        { body: { name, reason, dry_run: dryRun ?? false } },
        ({ holder, applied }) =>
          applied
            ? `lock ${printable(name)} was taken from ${printable(holder)}`
            : `lock ${printable(name)} would be taken from ${printable(holder)}; nothing was changed: this was a dry run`,
        "lock",
      ),
    );
}

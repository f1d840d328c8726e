/** What `ringrift dlq` changes: retry, discard, purge. Each works on the running process and is recorded there. */
import { OperatingError, sleep } from "../../kernel/index.ts";
import type { DeadLetter } from "../../router/index.ts";
import type { DeadLetterSelection, LiveJournal } from "../cli/journal-view.port.ts";
import type { Shell } from "../cli/shell.ts";
import { plural } from "../cli/text.ts";
import { encoded } from "../http/encode.ts";
import { letterLines } from "./view.ts";
import { letters as lettersAnswer } from "./wire.ts";

const report = (what: string, letters: readonly DeadLetter[], dryRun: boolean, shell: Shell) => {
  if (shell.json)
    return shell.print(encoded(lettersAnswer(), { action: what, dry_run: dryRun, dead_letters: letters }));
  if (letters.length === 0) return shell.say("no pending dead letters match");
  shell.say(...letterLines(letters, shell));
  const done = what === "retry" ? "sent back to the consumers that failed" : "discarded, on record";
  shell.say(`\n${plural(letters.length, "dead letter")} ${dryRun ? `would be ${done}` : done}`);
};

/** One after the other, each letter once, even where it fails again meanwhile. */
async function retrySlowly(
  journal: LiveJournal,
  options: DeadLetterSelection,
  perSecond: number,
  shell: Shell,
): Promise<DeadLetter[]> {
  const chosen = await journal.deadLetters({ ...options.filter, status: "pending" }, options.maxEvents);
  const sent: DeadLetter[] = [];
  for (const { id } of chosen) {
    if (shell.io.signal.aborted) break;
    sent.push(...(await journal.retryDeadLetters({ ...options, filter: { id }, maxEvents: 1 })));
    // Cut short by Ctrl-C, the wait ends the loop by itself.
    if (id !== chosen.at(-1)?.id) await sleep(shell.clock, 1_000 / perSecond, shell.io.signal).catch(() => undefined);
  }
  return sent;
}

export async function retry(options: DeadLetterSelection & { rate?: number | undefined }, shell: Shell): Promise<void> {
  using journal = await shell.journals.live();
  const letters =
    options.rate === undefined || options.dryRun
      ? await journal.retryDeadLetters(options)
      : await retrySlowly(journal, options, options.rate, shell);
  report("retry", letters, options.dryRun, shell);
}

export async function discard(options: DeadLetterSelection & { yes: boolean }, shell: Shell): Promise<void> {
  if (Object.keys(options.filter).length === 0)
    throw OperatingError.invalid("USAGE", "--discard needs a filter: --id, --fingerprint, --consumer or --type");
  if (!options.yes && !options.dryRun)
    throw OperatingError.invalid("USAGE", "discarded letters are gone for good", {
      hint: "Try it with --dry-run first, then add --yes.",
    });
  using journal = await shell.journals.live();
  report("discard", await journal.discardDeadLetters(options), options.dryRun, shell);
}

const MAX_COUNTED = 10_000;

/** Forgets letters that were resolved long ago; what is unresolved stays. */
export async function purge(olderThanHours: number, dryRun: boolean, shell: Shell): Promise<void> {
  using journal = await shell.journals.live();
  const before = shell.clock.now() - olderThanHours * 3_600_000;
  const old = async (status: "recovered" | "discarded") =>
    (await journal.deadLetters({ status }, MAX_COUNTED)).filter(({ resolved_at }) => (resolved_at ?? before) < before);
  const deleted = dryRun
    ? (await old("recovered")).length + (await old("discarded")).length
    : await journal.cleanUpDeadLetters(olderThanHours);
  if (shell.json) return shell.print({ action: "purge", dry_run: dryRun, deleted });
  const which = `resolved more than ${plural(olderThanHours, "hour")} ago`;
  shell.say(`${plural(deleted, "dead letter")} ${which} ${dryRun ? "would be " : ""}forgotten; unresolved ones stay`);
}

/** What `ringrift dlq` changes: retry, discard, purge. Each works on the running process and is recorded there. */
import { OperatingError, sleep } from "../../kernel/index.ts";
import type { DeadLetter, DeadLetterFilter } from "../../router/index.ts";
import { letterLines } from "./dlq-view.ts";
import type { LiveJournal } from "./journal-view.port.ts";
import type { Shell } from "./shell.ts";
import { plural } from "./text.ts";

export interface ActionOptions {
  readonly filter: DeadLetterFilter;
  readonly maxEvents: number;
  readonly dryRun: boolean;
}

const tell = (what: string, letters: readonly DeadLetter[], dryRun: boolean, shell: Shell) => {
  if (shell.json) return shell.print({ action: what, dry_run: dryRun, dead_letters: letters });
  if (letters.length === 0) return shell.say("no pending dead letter fits");
  for (const line of letterLines(letters, shell)) shell.say(line);
  const done = what === "retry" ? "sent back to the consumers that failed" : "discarded, on record";
  shell.say(`\n${plural(letters.length, "dead letter")} ${dryRun ? `would be ${done}` : done}`);
};

/** One after the other, each letter once, even where it fails again meanwhile. */
async function retrySlowly(
  journal: LiveJournal,
  options: ActionOptions,
  perSecond: number,
  shell: Shell,
): Promise<DeadLetter[]> {
  const chosen = await journal.deadLetters({ ...options.filter, status: "pending" }, options.maxEvents);
  const sent: DeadLetter[] = [];
  for (const { id } of chosen) {
    if (shell.io.signal.aborted) break;
    const selection = { filter: { id }, maxEvents: 1, dryRun: false, actor: shell.actor };
    sent.push(...(await journal.retryDeadLetters(selection)));
    // Cut short by Ctrl-C, the wait ends the loop by itself.
    if (id !== chosen.at(-1)?.id) await sleep(shell.clock, 1_000 / perSecond, shell.io.signal).catch(() => undefined);
  }
  return sent;
}

export async function retry(options: ActionOptions & { rate?: number | undefined }, shell: Shell): Promise<void> {
  const journal = await shell.journals.live();
  try {
    const selection = { ...options, actor: shell.actor };
    const letters =
      options.rate === undefined || options.dryRun
        ? await journal.retryDeadLetters(selection)
        : await retrySlowly(journal, options, options.rate, shell);
    tell("retry", letters, options.dryRun, shell);
  } finally {
    journal.close();
  }
}

export async function discard(options: ActionOptions & { yes: boolean }, shell: Shell): Promise<void> {
  if (Object.keys(options.filter).length === 0)
    throw new OperatingError("USAGE", "--discard needs to know which: --id, --fingerprint, --consumer or --type");
  if (!options.yes && !options.dryRun)
    throw new OperatingError("USAGE", "discarding gives letters up for good", {
      hint: "Look first with --dry-run, then add --yes.",
    });
  const journal = await shell.journals.live();
  try {
    tell("discard", await journal.discardDeadLetters({ ...options, actor: shell.actor }), options.dryRun, shell);
  } finally {
    journal.close();
  }
}

const MOST_COUNTED = 10_000;

/** Forgets letters that were resolved long ago; what is unresolved stays. */
export async function purge(olderThanHours: number, dryRun: boolean, shell: Shell): Promise<void> {
  const journal = await shell.journals.live();
  try {
    const before = shell.clock.now() / 1_000 - olderThanHours * 3_600;
    const old = async (status: "recovered" | "discarded") =>
      (await journal.deadLetters({ status }, MOST_COUNTED)).filter(
        ({ resolved_at }) => (resolved_at ?? before) < before,
      );
    const deleted = dryRun
      ? (await old("recovered")).length + (await old("discarded")).length
      : await journal.cleanUpDeadLetters(olderThanHours);
    if (shell.json) return shell.print({ action: "purge", dry_run: dryRun, deleted });
    const which = `resolved more than ${plural(olderThanHours, "hour")} ago`;
    shell.say(`${plural(deleted, "dead letter")} ${which} ${dryRun ? "would be " : ""}forgotten; unresolved ones stay`);
  } finally {
    journal.close();
  }
}

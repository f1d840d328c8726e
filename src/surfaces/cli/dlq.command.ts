import type { Command } from "commander";
import type { Catalog } from "../../events/index.ts";
import { isOperatingError, OperatingError, sleep } from "../../kernel/index.ts";
import type { DeadLetter, DeadLetterFilter, DeadLetterGroup } from "../../router/index.ts";
import { onTheWire } from "../http/on-the-wire.ts";
import { discard, purge, retry } from "./dlq-actions.ts";
import {
  ALERTS,
  groupLines,
  healthOf,
  letterDetails,
  letterLines,
  summaryLine,
  summaryLines,
  unresolved,
} from "./dlq-view.ts";
import { canonicalName } from "./event-names.ts";
import type { JournalView } from "./journal-view.port.ts";
import type { Shell } from "./shell.ts";
import { decimal, wholeNumber } from "./values.ts";

interface DlqOptions {
  readonly pending?: boolean;
  readonly failed?: boolean;
  readonly group?: boolean;
  readonly retry?: boolean;
  readonly discard?: boolean;
  readonly purge?: boolean;
  readonly watch?: boolean;
  readonly limit: number;
  readonly maxEvents: number;
  readonly interval: number;
  readonly olderThanHours: number;
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly id?: number;
  readonly consumer?: string;
  readonly type?: string;
  readonly fingerprint?: string;
}

const MODES = ["pending", "failed", "group", "retry", "discard", "purge"] as const;
const MOST = 10_000;
const anyId = wholeNumber("--id", 1, Number.MAX_SAFE_INTEGER);

function modeOf(options: DlqOptions): (typeof MODES)[number] | "summary" {
  const given = MODES.filter((mode) => options[mode] === true);
  if (given.length > 1)
    throw new OperatingError("USAGE", `--${given[0]} and --${given[1]} do not go together`, {
      hint: "'ringrift dlq --help' shows what each does.",
    });
  const mode = given[0] ?? (filterGiven(options) ? "pending" : "summary");
  if (options.watch === true && ["retry", "discard", "purge"].includes(mode))
    throw new OperatingError("USAGE", `--watch looks again and again; it does not go together with --${mode}`);
  return mode;
}

const filterGiven = ({ id, consumer, type, fingerprint }: DlqOptions): boolean =>
  [id, consumer, type, fingerprint].some((value) => value !== undefined);

const filterOf = (options: DlqOptions, eventType: string | undefined): DeadLetterFilter => ({
  ...(options.id === undefined ? {} : { id: options.id }),
  ...(options.consumer === undefined ? {} : { consumer: options.consumer }),
  ...(options.fingerprint === undefined ? {} : { fingerprint: options.fingerprint }),
  ...(eventType === undefined ? {} : { eventType }),
});

const fits = (group: DeadLetterGroup, filter: DeadLetterFilter): boolean =>
  (filter.consumer === undefined || group.consumer === filter.consumer) &&
  (filter.eventType === undefined || group.event_type === filter.eventType) &&
  (filter.fingerprint === undefined || group.fingerprint === filter.fingerprint);

async function list(view: JournalView, filter: DeadLetterFilter, again: boolean, limit: number): Promise<DeadLetter[]> {
  const found = await view.deadLetters({ ...filter, status: "pending" }, again ? MOST : limit);
  return (again ? found.filter(({ retry_count }) => retry_count > 0) : found).slice(0, limit);
}

async function look(options: DlqOptions, filter: DeadLetterFilter, shell: Shell): Promise<void> {
  const mode = modeOf(options);
  const view = await shell.journals.view();
  const sayAll = (lines: readonly string[], none: string) => {
    for (const line of lines.length <= 1 ? [none] : lines) shell.say(line);
  };
  try {
    if (mode === "pending" || mode === "failed") {
      const letters = await list(view, filter, mode === "failed", options.limit);
      if (shell.json) return shell.print({ from: view.from, dead_letters: letters });
      return sayAll(
        letterLines(letters, shell),
        filterGiven(options) ? "no pending dead letter fits" : "no pending dead letters",
      );
    }
    const summary = await view.deadLetterSummary();
    if (mode === "group") {
      const groups = summary.groups.filter((group) => fits(group, filter)).slice(0, options.limit);
      if (shell.json) return shell.print({ from: view.from, groups });
      return sayAll(groupLines(groups, shell), "no pending dead letters");
    }
    if (shell.json)
      return shell.print({
        from: view.from,
        health: healthOf(unresolved(summary)),
        unresolved: unresolved(summary),
        alerts_at: ALERTS,
        ...summary,
      });
    if (options.watch === true && !shell.io.isTerminal) return shell.say(summaryLine(summary, shell));
    for (const line of summaryLines(summary, shell)) shell.say(line);
  } finally {
    view.close();
  }
}

const CLEAR = "\u001b[H\u001b[2J";

/** Looks again and again until Ctrl-C. A main process that restarts meanwhile is waited for. */
async function watch(options: DlqOptions, filter: DeadLetterFilter, shell: Shell): Promise<void> {
  const { io } = shell;
  while (!io.signal.aborted) {
    if (io.isTerminal && !shell.json) {
      io.out(CLEAR);
      shell.say(shell.paint.dim(`every ${options.interval} s; Ctrl-C ends it\n`));
    }
    try {
      await look(options, filter, shell);
    } catch (thrown) {
      if (!(isOperatingError(thrown) && thrown.retryable)) throw thrown;
      shell.note(thrown.message);
    }
    // Cut short by Ctrl-C, the wait ends the loop by itself.
    await sleep(shell.clock, options.interval * 1_000, io.signal).catch(() => undefined);
  }
}

async function show(id: number, shell: Shell): Promise<void> {
  const view = await shell.journals.view();
  try {
    const [letter] = await view.deadLetters({ id }, 1);
    if (letter === undefined)
      throw new OperatingError("DEAD_LETTER_NOT_FOUND", `there is no dead letter ${id}`, {
        hint: "'ringrift dlq --pending' lists them.",
      });
    const note = await view.event(letter.event_id).catch((thrown: unknown) => {
      if (isOperatingError(thrown, "EVENT_NOT_FOUND")) return undefined;
      throw thrown;
    });
    if (shell.json)
      return shell.print({
        from: view.from,
        dead_letter: letter,
        event: note === undefined ? null : onTheWire(note.event),
      });
    for (const line of letterDetails(letter, note, shell)) shell.say(line);
  } finally {
    view.close();
  }
}

/** `ringrift dlq`: what the runbook's dashboard shows and does, and what one wants next to it. */
export function registerDlq(program: Command, shell: Shell, catalog: Catalog): void {
  const dlq = program
    .command("dlq")
    .description("dead letters: deliveries whose tries are spent. Without options: counts, health and causes")
    .option("--pending", "list the pending ones")
    .option("--failed", "list those that were sent back and failed again")
    .option("--group", "list causes: pending letters with one consumer, event and error together")
    .option("--retry", "send pending ones back, each to the consumer that failed and to nobody else")
    .option("--discard", "give pending ones up for good; needs a filter and --yes")
    .option("--purge", "forget those that were resolved long ago; unresolved ones stay")
    .option("--watch", "look again and again until Ctrl-C")
    .option("--consumer <name>", "only of this consumer")
    .option("--type <name>", "only of this event, in any spelling")
    .option("--fingerprint <text>", "only with this cause")
    .option("--id <n>", "only this one", anyId)
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, MOST), 20)
    .option("--max-events <n>", "change at most so many", wholeNumber("--max-events", 1, MOST), 100)
    .option("--rate <n>", "with --retry: at most so many a second", decimal("--rate", 0.01, 10_000))
    .option("--interval <seconds>", "with --watch", decimal("--interval", 0.1, 86_400), 30)
    .option("--older-than-hours <n>", "with --purge", decimal("--older-than-hours", 0, 1_000_000), 24)
    .option("--dry-run", "say what would be changed, and change nothing")
    .option("--yes", "with --discard: yes, for good")
    .action(async (options: DlqOptions) => {
      const type = options.type === undefined ? undefined : canonicalName(catalog, options.type, shell.note);
      const filter = filterOf(options, type);
      const action = { filter, maxEvents: options.maxEvents, dryRun: options.dryRun === true };
      switch (modeOf(options)) {
        case "retry":
          return retry({ ...action, rate: options.rate }, shell);
        case "discard":
          return discard({ ...action, yes: options.yes === true }, shell);
        case "purge":
          return purge(options.olderThanHours, action.dryRun, shell);
        default:
          return options.watch === true ? watch(options, filter, shell) : look(options, filter, shell);
      }
    });
  dlq
    .command("show")
    .description("all about one: payload, error with stack, tries, times, handler version")
    .argument("<id>", "its number", wholeNumber("the id", 1, Number.MAX_SAFE_INTEGER))
    .action((id: number) => show(id, shell));
}

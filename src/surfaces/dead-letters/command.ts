import type { Command } from "commander";
import type { z } from "zod";
import type { Catalog } from "../../events/index.ts";
import { defined, isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { DeadLetter, DeadLetterFilter, DeadLetterGroup } from "../../router/index.ts";
import type { JournalView } from "../cli/journal-view.port.ts";
import type { Shell } from "../cli/shell.ts";
import { decimal, wholeNumber } from "../cli/values.ts";
import { watch } from "../cli/watch.ts";
import { canonicalName } from "../events/event-names.ts";
import { onTheWire } from "../http/cloud-event.ts";
import { encoded } from "../http/encode.ts";
import { discard, purge, retry } from "./actions.ts";
import {
  ALERTS,
  groupLines,
  healthOf,
  letterDetails,
  letterLines,
  summaryLine,
  summaryLines,
  unresolved,
} from "./view.ts";
import { letter as letterAnswer, letterGroups, letters as lettersAnswer } from "./wire.ts";

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
const MAX = 10_000;

function modeOf(options: DlqOptions): (typeof MODES)[number] | "summary" {
  const given = MODES.filter((mode) => options[mode] === true);
  if (given.length > 1)
    throw OperatingError.invalid("USAGE", `--${given[0]} and --${given[1]} cannot be combined`, {
      hint: "'ringrift dlq --help' explains both.",
    });
  const mode = given[0] ?? (filterGiven(options) ? "pending" : "summary");
  if (options.watch === true && ["retry", "discard", "purge"].includes(mode))
    throw OperatingError.invalid("USAGE", `--watch cannot be combined with --${mode}`);
  return mode;
}

const filterGiven = ({ id, consumer, type, fingerprint }: DlqOptions): boolean =>
  [id, consumer, type, fingerprint].some((value) => value !== undefined);

const fits = (group: DeadLetterGroup, filter: DeadLetterFilter): boolean =>
  (filter.consumer === undefined || group.consumer === filter.consumer) &&
  (filter.eventType === undefined || group.event_type === filter.eventType) &&
  (filter.fingerprint === undefined || group.fingerprint === filter.fingerprint);

async function list(
  view: JournalView,
  filter: DeadLetterFilter,
  again: boolean,
  limit: number,
): Promise<readonly DeadLetter[]> {
  const found = await view.deadLetters({ ...filter, status: "pending" }, again ? MAX : limit);
  return (again ? found.filter(({ retry_count }) => retry_count > 0) : found).slice(0, limit);
}

/** What there is to see, as lines for a person, or printed for a program. */
async function look(options: DlqOptions, filter: DeadLetterFilter, shell: Shell): Promise<readonly string[]> {
  const mode = modeOf(options);
  using view = await shell.journals.view();
  const shown = (answer: z.ZodType, value: object, lines: () => readonly string[]): readonly string[] => {
    if (!shell.json) return lines();
    shell.print(encoded(answer, { from: view.from, ...value }));
    return [];
  };
  if (mode === "pending" || mode === "failed") {
    const dead_letters = await list(view, filter, mode === "failed", options.limit);
    const none = filterGiven(options) ? "no pending dead letters match" : "no pending dead letters";
    return shown(lettersAnswer(), { dead_letters }, () =>
      dead_letters.length === 0 ? [none] : letterLines(dead_letters, shell),
    );
  }
  const summary = await view.deadLetterSummary();
  if (mode === "group") {
    const groups = summary.groups.filter((group) => fits(group, filter)).slice(0, options.limit);
    return shown(letterGroups(), { groups }, () =>
      groups.length === 0 ? ["no pending dead letters"] : groupLines(groups, shell),
    );
  }
  const letters = unresolved(summary);
  const overview = { health: healthOf(letters), unresolved: letters, alerts_at: ALERTS, ...summary };
  return shown(letterGroups(), overview, () =>
    options.watch === true && !shell.io.isTerminal ? [summaryLine(summary, shell)] : summaryLines(summary, shell),
  );
}

async function show(id: number, shell: Shell): Promise<void> {
  using view = await shell.journals.view();
  const [letter] = await view.deadLetters({ id }, 1);
  if (letter === undefined)
    throw OperatingError.notFound("DEAD_LETTER_NOT_FOUND", `there is no dead letter ${id}`, {
      hint: "'ringrift dlq --pending' lists them.",
    });
  const note = await view.event(letter.event_id).catch((thrown: unknown) => {
    if (isOperatingError(thrown, "EVENT_NOT_FOUND")) return undefined;
    throw thrown;
  });
  if (shell.json)
    return shell.print({
      from: view.from,
      dead_letter: encoded(letterAnswer(), letter),
      event: note === undefined ? null : onTheWire(note.event),
    });
  shell.say(...letterDetails(letter, note, shell));
}

/** `ringrift dlq`: what the runbook's dashboard shows and does, and what one wants next to it. */
export function registerDlq(dlq: Command, shell: Shell, catalog: Catalog): void {
  dlq
    .option("--pending", "list pending letters")
    .option("--failed", "list letters that were sent back and failed again")
    .option("--group", "list causes: pending letters with the same consumer, event and error as one line")
    .option("--retry", "send pending letters back, each only to the consumer that failed")
    .option("--discard", "discard pending letters for good; needs a filter and --yes")
    .option("--purge", "remove letters that were resolved long ago; unresolved ones stay")
    .option("--watch", "repeat until Ctrl-C")
    .option("--consumer <name>", "only of this consumer")
    .option("--type <name>", "only of this event, in any spelling")
    .option("--fingerprint <text>", "only with this cause")
    .option("--id <n>", "only this one", wholeNumber("--id", 1, Number.MAX_SAFE_INTEGER))
    .option("--limit <n>", "list at most this many", wholeNumber("--limit", 1, MAX), 20)
    .option("--max-events <n>", "change at most this many", wholeNumber("--max-events", 1, MAX), 100)
    .option("--rate <n>", "with --retry: at most this many per second", decimal("--rate", 0.01, 10_000))
    .option("--interval <seconds>", "with --watch", decimal("--interval", 0.1, 86_400), 30)
    .option("--older-than-hours <n>", "with --purge", decimal("--older-than-hours", 0, 1_000_000), 24)
    .option("--dry-run", "only show what would change")
    .option("--yes", "with --discard: confirm it")
    .action(async (options: DlqOptions) => {
      const { id, consumer, fingerprint, maxEvents, dryRun = false } = options;
      const eventType = options.type === undefined ? undefined : canonicalName(catalog, options.type, shell.note);
      const filter = defined({ id, consumer, fingerprint, eventType });
      const action = { filter, maxEvents, dryRun, actor: shell.actor };
      switch (modeOf(options)) {
        case "retry":
          return retry({ ...action, rate: options.rate }, shell);
        case "discard":
          return discard({ ...action, yes: options.yes === true }, shell);
        case "purge":
          return purge(options.olderThanHours, dryRun, shell);
        default:
          if (options.watch === true) return watch(shell, options.interval, () => look(options, filter, shell));
          return shell.say(...(await look(options, filter, shell)));
      }
    });
  dlq
    .command("show")
    .description("show one letter: payload, error with stack, tries, times, handler version")
    .argument("<id>", "its number", wholeNumber("the id", 1, Number.MAX_SAFE_INTEGER))
    .action((id: number) => show(id, shell));
}

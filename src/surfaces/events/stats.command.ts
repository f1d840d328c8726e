import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, duration, number, plural, printable } from "../cli/text.ts";
import type { Answer } from "../http/wire.ts";
import { listEventUse } from "./wire.ts";

const MAX_NAMED = 3;
/** Rows that a consumer may have before it while it keeps up. */
const KEEPS_UP = 100;

const named = (names: readonly string[]): string => {
  const more = names.length - MAX_NAMED;
  return printable(names.slice(0, MAX_NAMED).join(", ")) + (more > 0 ? ` and ${more} more` : "");
};

function statsLines(use: Answer<typeof listEventUse>, shell: Shell): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  if (use.since === null) return ["no event was published yet"];
  const rows = use.event_types.map((each) => [
    paint.cyan(printable(each.event_type)),
    right(number(each.events)),
    right(number(each.last_hour)),
    right(String(each.per_hour)),
    ago(each.last_seen_at, now),
    named(each.sources),
    each.hearers.length === 0 ? paint.dim("nobody") : named(each.hearers),
  ]);
  const head = ["EVENT", right("EVENTS"), right("LAST HOUR"), right("PER HOUR"), "LAST SEEN", "FROM", "HEARD BY"];
  // Who keeps up has nothing to tell; the slowest comes first. A few rows are on their way at any time.
  const behind = use.consumers
    .filter(({ lag, parked, dead_letters }) => lag > KEEPS_UP || parked + dead_letters > 0)
    .sort((a, b) => b.lag - a.lag)
    .map((each) => [
      `  ${printable(each.consumer)}`,
      `${number(each.lag)} behind`,
      `${number(each.parked)} parked`,
      (each.dead_letters > 0 ? paint.red : paint.dim)(plural(each.dead_letters, "dead letter")),
    ]);
  return [
    ...tableLines([head, ...rows], shell),
    "",
    `${plural(use.looked_at, "event")} in the last ${duration(Math.max(0, now - use.since))}; ${plural(use.consumers.length, "durable consumer")}, ${behind.length === 0 ? "all up to date" : `${behind.length} not up to date`}`,
    ...sectionLines("consumers that are not up to date", behind, shell),
  ];
}

export function registerEventsStats(events: Command, shell: Shell): void {
  events
    .command("stats")
    .description(
      "count the newest events by name: how often, when last, from whom, heard by whom; and show which consumers are behind",
    )
    .action(() => showAnswer(shell, listEventUse, {}, (use) => statsLines(use, shell)));
}

/** How dead letters are shown. */
import { dlqRetryDefaults } from "../../daemons/limits.ts";
import type { DeadLetter, DeadLetterGroup } from "../../router/index.ts";
import type { DeadLetterSummary, EventNote } from "../cli/journal-view.port.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, tableLines } from "../cli/table.ts";
import { ago, moment, number, plural, printable } from "../cli/text.ts";

const [warning, critical] = dlqRetryDefaults.alertAt;

/** Unresolved letters that call for a look, and those that call for it now: where `dlq_retry` tells operators too. */
export const ALERTS = { warning: warning!, critical: critical! };

export const unresolved = ({ counts }: DeadLetterSummary): number => counts.pending + counts.retrying;

export const healthOf = (letters: number): "ok" | "warning" | "critical" => {
  if (letters >= ALERTS.critical) return "critical";
  return letters >= ALERTS.warning ? "warning" : "ok";
};

const firstLine = (error: string): string => printable(error.split("\n", 1)[0] ?? "");

const healthLine = (letters: number, { paint }: Shell): string => {
  const health = healthOf(letters);
  const limits = `alerts at ${number(ALERTS.warning)} and ${number(ALERTS.critical)}`;
  if (health === "ok") return `health  ${paint.green("ok")} ${paint.dim(`(${limits})`)}`;
  return `health  ${paint.red(`${health}: ${number(letters)} unresolved`)} ${paint.dim(`(${limits})`)}`;
};

export function groupLines(groups: readonly DeadLetterGroup[], shell: Shell): string[] {
  const { paint } = shell;
  const rows = groups.map((group) => [
    right(number(group.letters)),
    printable(group.consumer),
    paint.cyan(printable(group.event_type)),
    paint.yellow(printable(group.fingerprint)),
    ago(group.first_failed_at, shell.clock.now()),
    ago(group.last_failed_at, shell.clock.now()),
    paint.red(firstLine(group.error)),
  ]);
  return tableLines([["LETTERS", "CONSUMER", "EVENT", "FINGERPRINT", "FIRST", "LAST", "ERROR"], ...rows], shell);
}

export function letterLines(letters: readonly DeadLetter[], shell: Shell): string[] {
  const { paint } = shell;
  const rows = letters.map((letter) => [
    paint.yellow(String(letter.id)),
    letter.status,
    printable(letter.consumer),
    paint.cyan(printable(letter.event_type)),
    right(String(letter.attempts)),
    ago(letter.last_failed_at, shell.clock.now()),
    paint.dim(printable(letter.fingerprint)),
    paint.red(firstLine(letter.error)),
  ]);
  return tableLines([["ID", "STATUS", "CONSUMER", "EVENT", "TRIES", "LAST", "FINGERPRINT", "ERROR"], ...rows], shell);
}

/** Counts, health, and the causes behind them. */
export function summaryLines(summary: DeadLetterSummary, shell: Shell): string[] {
  const { counts, groups } = summary;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const each = Object.entries(counts).map(([status, count]) => `${number(count)} ${status}`);
  const lines = [
    total === 0 ? "no dead letters" : `${plural(total, "dead letter")}: ${each.join(", ")}`,
    healthLine(unresolved(summary), shell),
  ];
  if (groups.length === 0) return lines;
  return [
    ...lines,
    "",
    ...groupLines(groups, shell),
    "",
    shell.paint.dim(
      "'ringrift dlq show <id>' tells all of one; 'ringrift dlq --pending' lists them; '--retry' sends them back.",
    ),
  ];
}

/** One line, for a log that grows. */
export const summaryLine = (summary: DeadLetterSummary, { clock }: Shell): string => {
  const each = Object.entries(summary.counts).map(([status, count]) => `${status} ${number(count)}`);
  return [moment(clock.now(), clock.now()), healthOf(unresolved(summary)), ...each].join("  ");
};

/** Everything about one letter. */
export function letterDetails(letter: DeadLetter, note: EventNote | undefined, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const at = (ms: number) => `${moment(ms, now)} (${ago(ms, now)})`;
  const { resolved_at, resolved_by } = letter;
  const facts: [string, string | null][] = [
    ["status", letter.status],
    ["consumer", `${letter.consumer}, handler version ${letter.handler_version}`],
    ["event", `${letter.event_type} ${letter.event_id} (journal ${letter.seq})`],
    ["tries", `${plural(letter.attempts, "try", "tries")}, sent back ${plural(letter.retry_count, "time")}`],
    ["failed first", at(letter.first_failed_at)],
    ["failed last", at(letter.last_failed_at)],
    ["fingerprint", letter.fingerprint],
    ["resolved", resolved_at === null ? null : `${at(resolved_at)} by ${resolved_by ?? "unknown"}`],
  ];
  const indented = (text: string) => text.split("\n").map((line) => `  ${printable(line)}`);
  const payload =
    note === undefined
      ? [paint.dim("  the event is no longer in the journal")]
      : [
          ...indented(JSON.stringify(note.event.payload, null, 2)),
          "",
          paint.dim(`'ringrift events trace ${letter.event_id}' shows where it came from.`),
        ];
  return [
    paint.bold(`dead letter ${letter.id}`),
    ...factLines(facts, shell),
    "",
    "error",
    ...indented(letter.error).map(paint.red),
    "",
    "payload",
    ...payload,
  ];
}

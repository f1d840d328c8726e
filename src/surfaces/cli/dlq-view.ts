/** How dead letters are shown. */
import { dlqRetryDefaults } from "../../daemons/index.ts";
import type { DeadLetter, DeadLetterGroup } from "../../router/index.ts";
import type { DeadLetterSummary, EventNote } from "./journal-view.port.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, moment, number, plural, printable } from "./text.ts";

const [warning, critical] = dlqRetryDefaults.alertAt;

/** Unresolved letters that call for a look, and those that call for it now: where `dlq_retry` tells operators too. */
export const ALERTS = { warning: warning!, critical: critical! };

export type DlqHealth = "ok" | "warning" | "critical";

export const unresolved = ({ counts }: DeadLetterSummary): number => counts.pending + counts.retrying;

export const healthOf = (letters: number): DlqHealth => {
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
  const now = shell.clock.now();
  return tableLines(
    [
      ["LETTERS", "CONSUMER", "EVENT", "FINGERPRINT", "LAST", "ERROR"],
      ...groups.map((group): Cell[] => [
        { text: number(group.letters), align: "right" },
        { text: printable(group.consumer) },
        { text: printable(group.event_type), paint: paint.cyan },
        { text: printable(group.fingerprint), paint: paint.yellow },
        { text: ago(group.last_failed_at * 1_000, now) },
        { text: firstLine(group.error), paint: paint.red },
      ]),
    ],
    { width: shell.width },
  );
}

export function letterLines(letters: readonly DeadLetter[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  return tableLines(
    [
      ["ID", "STATUS", "CONSUMER", "EVENT", "TRIES", "LAST", "FINGERPRINT", "ERROR"],
      ...letters.map((letter): Cell[] => [
        { text: String(letter.id), paint: paint.yellow },
        { text: letter.status },
        { text: printable(letter.consumer) },
        { text: printable(letter.event_type), paint: paint.cyan },
        { text: String(letter.attempts), align: "right" },
        { text: ago(letter.last_failed_at * 1_000, now) },
        { text: printable(letter.fingerprint), paint: paint.dim },
        { text: firstLine(letter.error), paint: paint.red },
      ]),
    ],
    { width: shell.width },
  );
}

/** Counts, health, and the causes behind them. */
export function summaryLines(summary: DeadLetterSummary, shell: Shell): string[] {
  const { counts, groups } = summary;
  const { paint } = shell;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const lines = [
    total === 0
      ? "no dead letters"
      : `${plural(total, "dead letter")}: ${Object.entries(counts)
          .map(([status, count]) => `${number(count)} ${status}`)
          .join(", ")}`,
    healthLine(unresolved(summary), shell),
  ];
  if (groups.length === 0) return lines;
  return [
    ...lines,
    "",
    ...groupLines(groups, shell),
    "",
    paint.dim(
      "'ringrift dlq show <id>' tells all of one; 'ringrift dlq --pending' lists them; '--retry' sends them back.",
    ),
  ];
}

/** One line, for a log that grows. */
export const summaryLine = (summary: DeadLetterSummary, shell: Shell): string => {
  const { counts } = summary;
  return `${moment(shell.clock.now(), shell.clock.now())}  ${healthOf(unresolved(summary))}  ${Object.entries(counts)
    .map(([status, count]) => `${status} ${number(count)}`)
    .join("  ")}`;
};

/** Everything about one letter. */
export function letterDetails(letter: DeadLetter, note: EventNote | undefined, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const at = (seconds: number) => `${moment(seconds * 1_000, now)} (${ago(seconds * 1_000, now)})`;
  const facts: [string, string][] = [
    ["status", letter.status],
    ["consumer", `${printable(letter.consumer)}, handler version ${printable(letter.handler_version)}`],
    ["event", `${printable(letter.event_type)} ${printable(letter.event_id)} (journal ${letter.seq})`],
    ["tries", `${plural(letter.attempts, "try", "tries")}, sent back ${plural(letter.retry_count, "time")}`],
    ["failed first", at(letter.first_failed_at)],
    ["failed last", at(letter.last_failed_at)],
    ["fingerprint", printable(letter.fingerprint)],
  ];
  if (letter.resolved_at !== null)
    facts.push(["resolved", `${at(letter.resolved_at)} by ${printable(letter.resolved_by ?? "unknown")}`]);
  return [
    paint.bold(`dead letter ${letter.id}`),
    ...tableLines(
      facts.map(([name, text]): Cell[] => [{ text: `  ${name}`, paint: paint.dim }, { text }]),
      { width: shell.width },
    ),
    "",
    "error",
    ...letter.error.split("\n").map((line) => paint.red(`  ${printable(line)}`)),
    "",
    "payload",
    ...(note === undefined
      ? [paint.dim("  the event is no longer in the journal")]
      : JSON.stringify(note.event.payload, null, 2)
          .split("\n")
          .map((line) => `  ${printable(line)}`)),
    ...(note === undefined
      ? []
      : ["", paint.dim(`'ringrift events trace ${letter.event_id}' shows where it came from.`)]),
  ];
}

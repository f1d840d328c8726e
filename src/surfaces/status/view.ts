/** The one screen of `ringrift status`: is it well, what is wrong, what to do. */

import type { Cause } from "../../daemons/cause.ts";
import { adviceWords } from "../cli/advice.ts";
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { duration, number, printable, shorten, wrapText } from "../cli/text.ts";
import { markOf, verdictOf } from "./verdict.ts";
import type { Overview } from "./wire.ts";

const MARK: Readonly<Record<Cause["level"], string>> = { bad: "✗", warn: "!", note: "·" };

const paintSeverity = painter({ bad: "red", warn: "yellow" }, "dim");

/** The colour of a sign that stands before everything. */
export const paintMark = painter({ "✓": "green", "✗": "red", "!": "yellow" }, "dim");

const MAX_SHOWN = 12;

export function troubleLines(troubles: readonly Cause[], { paint, width }: Pick<Shell, "paint" | "width">): string[] {
  const room = Math.min(width, 120) - 6;
  const lines = troubles.slice(0, MAX_SHOWN).flatMap(({ level, what, advice }) => {
    const todo = adviceWords(advice);
    const color = paintSeverity(paint, level);
    const [first = "", ...rest] = wrapText(printable(what), room);
    return [
      `  ${color(`${MARK[level]} ${first}`)}`,
      ...rest.map((line) => `    ${color(line)}`),
      ...(todo === "" ? [] : wrapText(todo, room)).map((line) => `      ${paint.dim(line)}`),
    ];
  });
  const more = troubles.length - MAX_SHOWN;
  return more > 0 ? [...lines, paint.dim(`  and ${number(more)} more`)] : lines;
}

export const bytes = (value: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [size, at] = [value, 0];
  while (size >= 1_000 && at < units.length - 1) {
    size /= 1_000;
    at += 1;
  }
  return `${at === 0 ? size : size.toFixed(1)} ${units[at]}`;
};

export function factsOf(
  { daemons, events, consumers, dead_letters: letters, copies, alerts }: Overview,
  perSecond?: number,
) {
  const { present, last } = consumers;
  const behind =
    last === null || last.lag === 0 ? "none behind" : `${printable(last.consumer)} ${number(last.lag)} behind`;
  const open = Object.entries(alerts).filter(([, n]) => n > 0);
  const rate = perSecond === undefined ? "" : `, ${number(Math.round(perSecond))}/s`;
  return [
    ["daemons", `${daemons.running} of ${daemons.wanted} running`],
    [
      "events",
      `${number(events.since_start)} since the start${rate}; journal at ${number(events.head)}, ${bytes(events.bytes)}`,
    ],
    ["consumers", present === 0 ? "none" : `${present}; ${behind}`],
    ["dead letters", `${number(letters.pending)} pending, ${number(letters.retrying)} being sent back`],
    ...(copies === "" ? [] : [["copies", printable(copies)]]),
    ["alerts", open.length === 0 ? "none open" : `${open.map(([word, n]) => `${n} ${word}`).join(", ")} open`],
  ];
}

export interface StatusScreen {
  readonly overview: Overview;
  /** Null where the process that answered is not the one of this folder. */
  readonly port: number | null;
  /** Events a second, where two looks were taken. */
  readonly perSecond?: number | undefined;
}

export function statusLines(screen: StatusScreen, shell: Shell): string[] {
  const { paint } = shell;
  const { overview } = screen;
  const { causes } = overview;
  const width = Math.min(shell.width, 120);
  const mark = markOf(causes);
  const color = paintMark(paint, mark);
  const about = `${printable(overview.node_id)}  pid ${overview.pid}  ${screen.port === null ? "" : `port ${screen.port}  `}up ${duration(overview.uptime_seconds * 1_000)}  ${printable(overview.version)}`;
  return [
    `${paint.bold("RingRift")}  ${paint.dim(shorten(about, width - 10))}`,
    "",
    color(paint.bold(`${mark} ${verdictOf(causes)}`)),
    ...troubleLines(causes, shell),
    "",
    ...tableLines(
      factsOf(overview, screen.perSecond).map(([name = "", text = ""]) => [paint.dim(name), text]),
      { width },
    ),
  ];
}

/** The same in one line, for a log that grows. */
export function statusLine({ causes, daemons, events, dead_letters: letters }: Overview): string {
  return [
    markOf(causes) === "✓" ? "well" : verdictOf(causes),
    `daemons ${daemons.running}/${daemons.all}`,
    `events ${number(events.since_start)}`,
    `dead letters ${number(letters.pending + letters.retrying)}`,
  ].join("  ");
}

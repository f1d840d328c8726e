/** The one screen of `ringrift status`: is it well, what is wrong, what to do. */

import type { Cause } from "../../daemons/cause.ts";
import { adviceWords } from "../cli/advice.ts";
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { duration, number, printable, shorten, wrapText } from "../cli/text.ts";
import type { OpenAlerts } from "./diagnosis.ts";
import { markOf, verdictOf } from "./verdict.ts";
import type { Status } from "./wire.ts";

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

const isUp = ({ state }: { readonly state: string }) => state === "running" || state === "degraded";

export function factsOf(status: Status, alerts: OpenAlerts | undefined, perSecond: number | undefined) {
  const { journal, daemons, dead_letters: letters, router } = status;
  const wanted = daemons.filter(({ wanted: is }) => is);
  const present = journal.consumers.filter(({ expired_at }) => expired_at === null);
  const last = present.toSorted((a, b) => b.lag - a.lag)[0];
  const behind =
    last === undefined || last.lag === 0 ? "none behind" : `${printable(last.consumer)} ${number(last.lag)} behind`;
  const open = alerts === undefined ? [] : Object.entries(alerts).filter(([, n]) => n > 0);
  const copies = status.units.find(({ name }) => name === "replication_daemon")?.message ?? "";
  const rate = perSecond === undefined ? "" : `, ${number(Math.round(perSecond))}/s`;
  return [
    ["daemons", `${daemons.filter(isUp).length} of ${wanted.length} running`],
    [
      "events",
      `${number(router.total_events)} since the start${rate}; journal at ${number(journal.head)}, ${bytes(journal.bytes)}`,
    ],
    ["consumers", present.length === 0 ? "none" : `${present.length}; ${behind}`],
    ["dead letters", `${number(letters.pending)} pending, ${number(letters.retrying)} being sent back`],
    ...(copies === "" ? [] : [["copies", printable(copies)]]),
    ...(alerts === undefined
      ? []
      : [["alerts", open.length === 0 ? "none open" : `${open.map(([word, n]) => `${n} ${word}`).join(", ")} open`]]),
  ];
}

export interface StatusScreen {
  readonly status: Status;
  readonly troubles: readonly Cause[];
  readonly alerts?: OpenAlerts | undefined;
  /** Null where the process that answered is not the one of this folder. */
  readonly port: number | null;
  /** Events a second, where two looks were taken. */
  readonly perSecond?: number | undefined;
}

export function statusLines(screen: StatusScreen, shell: Shell): string[] {
  const { paint } = shell;
  const { status, troubles } = screen;
  const width = Math.min(shell.width, 120);
  const mark = markOf(troubles);
  const color = paintMark(paint, mark);
  const about = `${printable(status.node_id)}  pid ${status.pid}  ${screen.port === null ? "" : `port ${screen.port}  `}up ${duration(status.uptime_seconds * 1_000)}  ${printable(status.version)}`;
  return [
    `${paint.bold("RingRift")}  ${paint.dim(shorten(about, width - 10))}`,
    "",
    color(paint.bold(`${mark} ${verdictOf(troubles)}`)),
    ...troubleLines(troubles, shell),
    "",
    ...tableLines(
      factsOf(status, screen.alerts, screen.perSecond).map(([name = "", text = ""]) => [paint.dim(name), text]),
      { width },
    ),
  ];
}

/** The same in one line, for a log that grows. */
export function statusLine({ status, troubles }: StatusScreen): string {
  const { daemons } = status;
  return [
    markOf(troubles) === "✓" ? "well" : verdictOf(troubles),
    `daemons ${daemons.filter(isUp).length}/${daemons.length}`,
    `events ${number(status.router.total_events)}`,
    `dead letters ${number(status.dead_letters.pending + status.dead_letters.retrying)}`,
  ].join("  ");
}

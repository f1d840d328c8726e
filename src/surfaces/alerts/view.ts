import { ALERT_SEVERITIES } from "../../cluster/alerts/alert.ts";
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, duration, momentAgo, number, plural, printable, wrapText } from "../cli/text.ts";
import type { Alert, Mute } from "./wire.ts";

const severityColor = painter({ critical: "red", error: "red", warning: "yellow" }, "dim");

const rank = ({ severity }: Alert) => ALERT_SEVERITIES.indexOf(severity);

const SHORT = 8;
/** The end of an id: long enough to name it, short enough to type. */
export const shortAlert = (id: string): string => printable(id.slice(-SHORT));

/** One line for each, worst first. */
export function alertLines(alerts: readonly Alert[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const worstFirst = alerts.toSorted((a, b) => rank(b) - rank(a) || b.last_seen_at - a.last_seen_at);
  const rows = worstFirst.map((alert) => [
    paint.yellow(shortAlert(alert.id)),
    severityColor(paint, alert.severity)(alert.severity),
    alert.status,
    ago(alert.opened_at, now),
    right(number(alert.count)),
    printable(alert.title),
  ]);
  return tableLines([["ID", "SEVERITY", "STATUS", "OPENED", right("SEEN"), "WHAT"], ...rows], shell);
}

/** Until when nothing is sent, who said so and why. */
export function muteWords({ until, actor, reason, waiting }: Mute, shell: Pick<Shell, "clock">): string {
  const left = duration(Math.max(0, until - shell.clock.now()));
  const why = reason === null ? "" : `: ${printable(reason)}`;
  const held = waiting === 0 ? "" : `; ${plural(waiting, "message")} ${waiting === 1 ? "waits" : "wait"}`;
  return `no alerts are sent for another ${left}, by ${printable(actor)}${why}${held}`;
}

export function alertDetails(alert: Alert, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const width = Math.min(shell.width, 120);
  const at = (ms: number | null) => momentAgo(ms, now);
  const facts = [
    ["severity", alert.severity],
    ["status", alert.acknowledged_by === null ? alert.status : `${alert.status}, by ${alert.acknowledged_by}`],
    ["subject", alert.subject],
    ["opened", at(alert.opened_at)],
    ["last seen", `${at(alert.last_seen_at)}, ${plural(alert.count, "time")}`],
    ["closed", at(alert.closed_at)],
    ["id", alert.id],
    ["key", alert.key],
    ["event", [alert.event_type, alert.event_id].filter((text) => text !== null).join(" ")],
  ] as const;
  const deliveries = alert.deliveries.map((each) => [
    `  ${printable(each.sink)}`,
    (each.error === null ? paint.green : paint.red)(each.status),
    paint.dim(each.at === null ? "" : ago(each.at, now)),
    printable(each.error ?? ""),
  ]);
  return [
    severityColor(paint, alert.severity)(paint.bold(printable(alert.title))),
    ...wrapText(printable(alert.message), width),
    "",
    ...factLines(facts, shell),
    ...sectionLines("told to", deliveries, shell),
    ...(alert.event_id === null
      ? []
      : [
          "",
          ...wrapText(`'ringrift events trace ${printable(alert.event_id)}' shows where it came from.`, width).map(
            paint.dim,
          ),
        ]),
  ];
}

import type { Shell } from "../cli/shell.ts";
import { sectionLines } from "../cli/table.ts";
import { duration, moment, plural, printable } from "../cli/text.ts";
import { troubleLines } from "../status/view.ts";
import type { Handover } from "./handover.ts";

const MAX_SHOWN = 10;

const more = (all: number): string[] => (all > MAX_SHOWN ? [`  and ${all - MAX_SHOWN} more`] : []);

/** The page that somebody reads who takes over: what happened, what was done without being asked, what is left to do. */
export function handoverLines(handover: Handover, shell: Shell): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const { configs, done, alerts, people, needs } = handover;
  const trained = configs.map((config) => [
    `  ${printable(config.config_key)}`,
    printable(config.state),
    `iteration ${config.iteration}, ${printable(config.stage)}`,
    config.promoted === 0 ? paint.dim("no promotion") : paint.green(plural(config.promoted, "promotion")),
  ]);
  const open = alerts.open
    .slice(0, MAX_SHOWN)
    .map((alert) => [
      `  ${alert.severity}`,
      printable(alert.title),
      paint.dim(`since ${moment(alert.opened_at, now)}`),
    ]);
  const changes = people
    .slice(0, MAX_SHOWN)
    .map((write) => [
      `  ${paint.dim(moment(write.at, now))}`,
      printable(write.actor),
      `${write.method} ${printable(write.path)}`,
      printable(write.reason ?? ""),
    ]);
  const calm = needs.length === 0 && alerts.open.length === 0;
  return [
    paint.bold(`The last ${duration(Math.max(0, now - handover.since))}`),
    ...sectionLines("training", trained, shell),
    ...sectionLines(
      "done without you",
      (done.length === 0 ? ["nothing"] : done.map(({ what }) => what)).map((what) => [`  ${what}`]),
      shell,
    ),
    ...sectionLines("changed by people", changes, shell),
    ...more(people.length),
    "",
    calm ? paint.green("✓ nothing needs you") : paint.bold(paint.yellow("What needs you")),
    ...troubleLines(needs, shell),
    ...sectionLines("open alerts", open, shell),
    ...more(alerts.open.length),
    ...(alerts.opened === 0
      ? []
      : [
          "",
          paint.dim(`${plural(alerts.opened, "alert")} opened in this time; 'ringrift alerts list --all' lists them`),
        ]),
  ];
}

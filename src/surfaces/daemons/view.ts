/** How daemons are shown. */
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, duration, moment, momentAgo, printable } from "../cli/text.ts";
import type { Daemon, DaemonAction } from "./wire.ts";

/** What the folder of a process that is gone says of a daemon. */
export interface DaemonBook {
  readonly name: string;
  readonly restarts: number;
  readonly permanently_failed: string | null;
  /** When it was given up, in milliseconds since the epoch. */
  readonly given_up_at: number | null;
}

const stateColor = painter({ running: "green", failed: "red", import_failed: "red", stopped: "dim" }, "yellow");

/** What the supervisor says before the first check; nothing that a person needs to know. */
const UNCHECKED = "not checked yet";

/** The one thing to know of a daemon besides its state. */
function noteOf(row: Daemon, nowMs: number): string {
  if (row.permanently_failed !== null) return `given up: ${row.permanently_failed}`;
  if (row.state === "restarting" && row.restart_at !== null)
    return `again in ${duration(Math.max(0, row.restart_at - nowMs))}: ${row.last_error ?? ""}`;
  if (row.paused !== null) return row.paused;
  if (row.state === "failed" || row.state === "import_failed") return row.last_error ?? "";
  if (!row.wanted && row.state === "stopped") return "not wanted";
  return row.health.message === UNCHECKED ? "" : row.health.message;
}

export function daemonLines(daemons: readonly Daemon[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = daemons.map((row) => {
    const restarts = `${row.restarts}/${row.max_restarts}`;
    return [
      paint.bold(`${printable(row.name)}${row.critical ? " *" : ""}`),
      stateColor(paint, row.state)(row.state),
      right(row.started_at === null ? "-" : duration(row.uptime_seconds * 1_000)),
      right(row.restarts > 0 ? paint.yellow(restarts) : restarts),
      paint.dim(printable(noteOf(row, now))),
    ];
  });
  return tableLines([["DAEMON", "STATE", right("UP"), right("RESTARTS"), "NOTE"], ...rows], shell);
}

export function bookLines(books: readonly DaemonBook[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = books.map(({ name, restarts, permanently_failed: failure, given_up_at }) => [
    paint.bold(printable(name)),
    right(String(restarts)),
    failure === null ? "" : paint.red(`given up ${ago(given_up_at ?? 0, now)}: ${printable(failure)}`),
  ]);
  return tableLines([["DAEMON", right("RESTARTS"), "WHEN IT LAST RAN"], ...rows], shell);
}

const CONDITION: Readonly<Record<string, string>> = { true: "✓", false: "✗", unknown: "?" };

/** All of one daemon: how it stands, since when, on what it stands, and what was done with it. */
export function daemonDetails(
  row: Daemon,
  all: readonly Daemon[],
  actions: readonly DaemonAction[],
  shell: Shell,
): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const stateOf = (name: string) => all.find((each) => each.name === name)?.state ?? "elsewhere";
  const withState = (name: string) => `${name} (${stateOf(name)})`;
  const neededBy = all.filter(({ depends_on }) => depends_on.includes(row.name)).map(({ name }) => name);
  const facts = [
    ["state", `${row.state}${row.wanted ? "" : ", not wanted"}${row.critical ? ", critical" : ""}`],
    ["note", noteOf(row, now)],
    ["since", momentAgo(row.started_at, now)],
    ["restarts", `${row.restarts} of ${row.max_restarts} in the last hour`],
    ["health", [row.health.status, row.health.message].filter((text) => text !== "").join(": ")],
    ["last error", row.last_error],
    ["depends on", row.depends_on.map(withState).join(", ")],
    ["needed by", neededBy.map(withState).join(", ")],
  ] as const;
  const conditions = row.conditions.map((each) => [
    `  ${CONDITION[each.status] ?? "?"} ${each.type}`,
    paint.dim(`for ${ago(each.last_transition_at, now).replace(/ ago$/, "")}`),
    [each.reason, printable(each.message)].filter((text) => text !== "").join(": "),
  ]);
  const done = actions.map((each) => [
    paint.dim(`  ${moment(each.at, now)}`),
    each.action,
    printable(each.actor),
    `${printable(each.reason)}${each.cause === null || each.cause === row.name ? "" : ` (because of ${printable(each.cause)})`}`,
  ]);
  return [
    paint.bold(printable(row.name)),
    ...factLines(facts, shell),
    "",
    "conditions",
    ...tableLines(conditions, shell),
    ...sectionLines("what was done", done, shell),
  ];
}

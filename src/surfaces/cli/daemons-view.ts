/** How daemons are shown. */
import type { Paint } from "./paint.ts";
import type { Shell } from "./shell.ts";
import type { DaemonRow } from "./status-report.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, duration, moment, printable } from "./text.ts";

/** What was done with a daemon, as the supervisor wrote it down. Unix seconds. */
export interface DaemonAction {
  readonly at: number;
  readonly daemon: string;
  readonly action: string;
  readonly reason: string;
  readonly cause: string | null;
  readonly actor: string;
}

/** What the folder of a process that is gone says of a daemon. */
export interface DaemonBook {
  readonly name: string;
  readonly restarts: number;
  readonly permanently_failed: string | null;
  /** When it was given up, in Unix seconds. */
  readonly given_up_at: number | null;
}

const stateColor = (paint: Paint, state: string): ((text: string) => string) => {
  if (state === "running") return paint.green;
  if (state === "failed" || state === "import_failed") return paint.red;
  return state === "stopped" ? paint.dim : paint.yellow;
};

/** What the supervisor says before the first check; nothing that a person needs to know. */
const UNCHECKED = "not checked yet";

/** The one thing to know of a daemon besides its state. */
function noteOf(row: DaemonRow, nowMs: number): string {
  if (row.permanently_failed !== null) return `given up: ${row.permanently_failed}`;
  if (row.state === "restarting" && row.restart_at !== null)
    return `again in ${duration(Math.max(0, row.restart_at * 1_000 - nowMs))}: ${row.last_error ?? ""}`;
  if (row.paused !== null) return row.paused;
  if (row.state === "failed" || row.state === "import_failed") return row.last_error ?? "";
  if (!row.wanted && row.state === "stopped") return "not wanted";
  return row.health.message === UNCHECKED ? "" : row.health.message;
}

export function daemonLines(rows: readonly DaemonRow[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  return tableLines(
    [
      ["DAEMON", "STATE", { text: "UP", align: "right" }, { text: "RESTARTS", align: "right" }, "NOTE"],
      ...rows.map((row): Cell[] => [
        { text: `${printable(row.name)}${row.critical ? " *" : ""}`, paint: paint.bold },
        { text: row.state, paint: stateColor(paint, row.state) },
        { text: row.started_at === null ? "-" : duration(row.uptime_seconds * 1_000), align: "right" },
        {
          text: `${row.restarts}/${row.max_restarts}`,
          align: "right",
          ...(row.restarts > 0 ? { paint: paint.yellow } : {}),
        },
        { text: printable(noteOf(row, now)), paint: paint.dim },
      ]),
    ],
    { width: shell.width },
  );
}

export function bookLines(books: readonly DaemonBook[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  return tableLines(
    [
      ["DAEMON", { text: "RESTARTS", align: "right" }, "WHEN IT LAST RAN"],
      ...books.map((book): Cell[] => [
        { text: printable(book.name), paint: paint.bold },
        { text: String(book.restarts), align: "right" },
        book.permanently_failed === null
          ? { text: "" }
          : {
              text: `given up ${ago((book.given_up_at ?? 0) * 1_000, now)}: ${printable(book.permanently_failed)}`,
              paint: paint.red,
            },
      ]),
    ],
    { width: shell.width },
  );
}

const CONDITION: Readonly<Record<string, string>> = { true: "✓", false: "✗", unknown: "?" };

/** All of one daemon: how it stands, since when, on what it stands, and what was done with it. */
export function daemonDetails(
  row: DaemonRow,
  all: readonly DaemonRow[],
  actions: readonly DaemonAction[],
  shell: Shell,
): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const stateOf = (name: string) => all.find((each) => each.name === name)?.state ?? "elsewhere";
  const withState = (name: string) => `${printable(name)} (${stateOf(name)})`;
  const neededBy = all.filter(({ depends_on }) => depends_on.includes(row.name)).map(({ name }) => name);
  const facts: [string, string][] = [
    ["state", `${row.state}${row.wanted ? "" : ", not wanted"}${row.critical ? ", critical" : ""}`],
    ["note", printable(noteOf(row, now))],
    [
      "since",
      row.started_at === null ? "" : `${moment(row.started_at * 1_000, now)} (${ago(row.started_at * 1_000, now)})`,
    ],
    ["restarts", `${row.restarts} of ${row.max_restarts} in the last hour`],
    ["health", [row.health.status, printable(row.health.message)].filter((text) => text !== "").join(": ")],
    ["last error", printable(row.last_error ?? "")],
    ["depends on", row.depends_on.map(withState).join(", ")],
    ["needed by", neededBy.map(withState).join(", ")],
  ];
  const conditions = row.conditions.map((each): Cell[] => [
    { text: `  ${CONDITION[each.status] ?? "?"} ${each.type}` },
    { text: `since ${ago(each.last_transition_at * 1_000, now).replace(/ ago$/, "")}`, paint: paint.dim },
    { text: [each.reason, printable(each.message)].filter((text) => text !== "").join(": ") },
  ]);
  const done = actions.map((each): Cell[] => [
    { text: `  ${moment(each.at * 1_000, now)}`, paint: paint.dim },
    { text: each.action },
    { text: printable(each.actor) },
    {
      text: `${printable(each.reason)}${each.cause === null || each.cause === row.name ? "" : ` (because of ${printable(each.cause)})`}`,
    },
  ]);
  const table = (rows: readonly Cell[][]) => tableLines(rows, { width: shell.width });
  return [
    paint.bold(printable(row.name)),
    ...table(
      facts
        .filter(([, text]) => text !== "")
        .map(([name, text]) => [{ text: `  ${name}`, paint: paint.dim }, { text }]),
    ),
    "",
    "conditions",
    ...table(conditions),
    ...(done.length === 0 ? [] : ["", "what was done", ...table(done)]),
  ];
}

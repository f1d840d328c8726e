import type { Command } from "commander";
import { ALERT_SEVERITIES, ALERT_STATUSES, type Alert } from "../../cluster/index.ts";
import { didYouMean, OperatingError } from "../../kernel/index.ts";
import { askMain, type MainProcess } from "./main-process.ts";
import type { Paint } from "./paint.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, moment, number, plural, printable, wrapText } from "./text.ts";
import { oneOf, wholeNumber } from "./values.ts";

interface ListOptions {
  readonly status?: (typeof ALERT_STATUSES)[number];
  readonly severity?: (typeof ALERT_SEVERITIES)[number];
  readonly all?: boolean;
  readonly limit: number;
}

const severityColor = (paint: Paint, severity: string): ((text: string) => string) => {
  if (severity === "critical" || severity === "error") return paint.red;
  return severity === "warning" ? paint.yellow : paint.dim;
};

const rank = ({ severity }: Alert) => (ALERT_SEVERITIES as readonly string[]).indexOf(severity);

const SHORT = 8;
/** The end of an id: long enough to name it, short enough to type. */
const shortOf = (id: string): string => printable(id.slice(-SHORT));

function alertLines(alerts: readonly Alert[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = alerts.map((alert): Cell[] => [
    { text: shortOf(alert.id), paint: paint.yellow },
    { text: alert.severity, paint: severityColor(paint, alert.severity) },
    { text: alert.status },
    { text: ago(alert.opened_at * 1_000, now) },
    { text: number(alert.count), align: "right" },
    { text: printable(alert.title) },
  ]);
  return tableLines([["ID", "SEVERITY", "STATUS", "OPENED", { text: "SEEN", align: "right" }, "WHAT"], ...rows], shell);
}

function alertDetails(alert: Alert, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const width = Math.min(shell.width, 120);
  const at = (seconds: number) => `${moment(seconds * 1_000, now)} (${ago(seconds * 1_000, now)})`;
  const facts: [string, string][] = [
    ["severity", alert.severity],
    [
      "status",
      alert.acknowledged_by === null ? alert.status : `${alert.status}, by ${printable(alert.acknowledged_by)}`,
    ],
    ["subject", printable(alert.subject ?? "")],
    ["opened", at(alert.opened_at)],
    ["last seen", `${at(alert.last_seen_at)}, ${plural(alert.count, "time")}`],
    ["closed", alert.closed_at === null ? "" : at(alert.closed_at)],
    ["id", printable(alert.id)],
    ["key", printable(alert.key)],
    [
      "event",
      [alert.event_type ?? "", alert.event_id ?? ""]
        .filter((text) => text !== "")
        .map(printable)
        .join(" "),
    ],
  ];
  const deliveries = alert.deliveries.map((each): Cell[] => [
    { text: `  ${printable(each.sink)}` },
    { text: each.status, paint: each.error === null ? paint.green : paint.red },
    { text: each.at === null ? "" : ago(each.at * 1_000, now), paint: paint.dim },
    { text: printable(each.error ?? "") },
  ]);
  return [
    severityColor(paint, alert.severity)(paint.bold(printable(alert.title))),
    ...wrapText(printable(alert.message), width),
    "",
    ...tableLines(
      facts
        .filter(([, text]) => text !== "")
        .map(([name, text]): Cell[] => [{ text: `  ${name}`, paint: paint.dim }, { text }]),
      shell,
    ),
    ...(deliveries.length === 0 ? [] : ["", "told to", ...tableLines(deliveries, shell)]),
    ...(alert.event_id === null
      ? []
      : [
          "",
          ...wrapText(`'ringrift events trace ${printable(alert.event_id)}' shows where it came from.`, width).map(
            (line) => paint.dim(line),
          ),
        ]),
  ];
}

const queryOf = ({ status, severity, all, limit }: ListOptions): string => {
  const wanted = status ?? (all === true ? undefined : "open");
  const query = new URLSearchParams({ limit: String(limit) });
  if (wanted !== undefined) query.set("status", wanted);
  if (severity !== undefined) query.set("severity", severity);
  return query.toString();
};

const list = (options: ListOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const { alerts } = await main.get<{ alerts: Alert[] }>(`/v1/alerts?${queryOf(options)}`);
    if (shell.json) return shell.print({ alerts });
    if (alerts.length === 0) {
      const filtered = options.all === true || options.status !== undefined || options.severity !== undefined;
      return shell.say(filtered ? "no alert fits" : "no open alerts");
    }
    const worstFirst = alerts.toSorted((a, b) => rank(b) - rank(a) || b.last_seen_at - a.last_seen_at);
    for (const line of alertLines(worstFirst, shell)) shell.say(line);
    shell.say("");
    for (const text of wrapText(
      "'ringrift alerts show <id>' tells all of one; 'ack' says that you are on it; 'close' ends it.",
      Math.min(shell.width, 120),
    ))
      shell.say(shell.paint.dim(text));
  });

/** The path of an alert by its id, or by the end of it. */
async function pathOf(main: MainProcess, given: string): Promise<string> {
  const path = (id: string) => `/v1/alerts/${encodeURIComponent(id)}`;
  if (!/^[\w-]{4,30}$/.test(given)) return path(given);
  const { alerts } = await main.get<{ alerts: Alert[] }>("/v1/alerts?limit=1000");
  const meant = alerts.filter(({ id }) => id.endsWith(given));
  if (meant.length > 1)
    throw new OperatingError("USAGE", `${meant.length} alerts end in '${given}'`, { hint: "Give more of the id." });
  return path(meant[0]?.id ?? given);
}

const show = (id: string, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const alert = await main.get<Alert>(await pathOf(main, id));
    if (shell.json) return shell.print({ alert });
    for (const line of alertDetails(alert, shell)) shell.say(line);
  });

const decide = (verb: "acknowledge" | "close", id: string, note: string | undefined, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const alert = await main.post<Alert>(`${await pathOf(main, id)}/${verb}`, note === undefined ? {} : { note });
    if (shell.json) return shell.print({ alert });
    shell.say(`alert ${shortOf(alert.id)} is ${alert.status}: ${printable(alert.title)}`);
  });

const noteOption = (text: string): string => {
  if (text.trim() === "" || text.length > 500)
    throw new OperatingError("INVALID_OPTION", "--note is a sentence of at most 500 characters");
  return text;
};

const COMMANDS = ["list", "show", "ack", "close"];

/** `ringrift alerts`: what the system has to say to a person. */
export function registerAlerts(program: Command, shell: Shell): void {
  const alerts = program.command("alerts").description("what needs a person: list, show, acknowledge and close alerts");
  alerts
    .command("list", { isDefault: true })
    .description("list the open ones, worst first; this is what 'ringrift alerts' does")
    .option("--status <status>", `only those that are ${ALERT_STATUSES.join(", ")}`, oneOf("--status", ALERT_STATUSES))
    .option(
      "--severity <severity>",
      `only those that are ${ALERT_SEVERITIES.join(", ")}`,
      oneOf("--severity", ALERT_SEVERITIES),
    )
    .option("--all", "also those that were acknowledged or closed")
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .allowExcessArguments(true)
    .action((options: ListOptions, command: Command) => {
      const [wrong] = command.args;
      if (wrong !== undefined)
        throw new OperatingError("USAGE", `unknown command '${wrong}'`, {
          hint: didYouMean(wrong, COMMANDS).trim() || "'ringrift alerts --help' shows what there is.",
        });
      return list(options, shell);
    });
  alerts
    .command("show")
    .description("all of one: what happened, how often, who was told")
    .argument("<id>", "its id, or the end of it")
    .action((id: string) => show(id, shell));
  const note = ["--note <text>", "why, or what you are doing; kept on record", noteOption] as const;
  alerts
    .command("ack")
    .description("say that you are on it; it stays until its cause is gone or it is closed")
    .argument("<id>", "its id, or the end of it")
    .option(...note)
    .action((id: string, options: { note?: string }) => decide("acknowledge", id, options.note, shell));
  alerts
    .command("close")
    .description("close one; it opens again if its cause comes back")
    .argument("<id>", "its id, or the end of it")
    .option(...note)
    .action((id: string, options: { note?: string }) => decide("close", id, options.note, shell));
}

import type { Command } from "commander";
import { ALERT_SEVERITIES, ALERT_STATUSES } from "../../cluster/alerts/alert.ts";
import { OperatingError, sayWhich } from "../../kernel/index.ts";
import { askEither, defaultList, showAnswer } from "../cli/answers.ts";
import { type Answering, askMain } from "../cli/main-process.ts";
import { answer, type Shell } from "../cli/shell.ts";
import { printable, wrapText } from "../cli/text.ts";
import { oneOf, sentence, wholeNumber } from "../cli/values.ts";
import { alertDetails, alertLines, shortAlert } from "./view.ts";
import { acknowledgeAlert, closeAlert, getAlert, listAlerts } from "./wire.ts";

interface ListOptions {
  readonly status?: (typeof ALERT_STATUSES)[number];
  readonly severity?: (typeof ALERT_SEVERITIES)[number];
  readonly all?: boolean;
  readonly limit: number;
}

const list = ({ status, severity, all, limit }: ListOptions, shell: Shell) => {
  const wanted = status ?? (all === true ? undefined : "open");
  return showAnswer(shell, listAlerts, { query: { status: wanted, severity, limit } }, ({ alerts }) => {
    const filtered = all === true || status !== undefined || severity !== undefined;
    if (alerts.length === 0) return filtered ? "no alerts" : "no open alerts";
    const hint = "'ringrift alerts show <id>' shows details; 'ack' says that you are working on it; 'close' closes it.";
    return [...alertLines(alerts, shell), "", ...wrapText(hint, Math.min(shell.width, 120)).map(shell.paint.dim)];
  });
};

/** An alert by its id, or by the end of it. */
async function find(main: Answering, given: string): Promise<{ readonly id: string }> {
  if (!/^[\w-]{4,30}$/.test(given)) return { id: given };
  const { alerts } = await main.call(listAlerts, { query: { limit: 1_000 } });
  const meant = alerts.filter(({ id }) => id.endsWith(given));
  if (meant.length > 1)
    throw OperatingError.invalid("USAGE", `${meant.length} alerts end in '${given}'`, {
      hint: sayWhich(meant.map(({ id }) => id)),
    });
  return { id: meant[0]?.id ?? given };
}

const show = (id: string, shell: Shell) =>
  askEither(shell, async (main) => {
    const raw = await main.raw(getAlert, { params: await find(main, id) });
    answer(shell, { alert: raw }, () => alertDetails(main.read(getAlert, raw), shell));
  });

const decide = (
  route: typeof acknowledgeAlert | typeof closeAlert,
  id: string,
  note: string | undefined,
  shell: Shell,
) =>
  askMain(shell.main, async (main) => {
    const alert = await main.raw(route, { params: await find(main, id), body: { note } });
    answer(shell, { alert }, () => `alert ${shortAlert(alert.id)} is ${alert.status}: ${printable(alert.title)}`);
  });

/** `ringrift alerts`: what the system has to say to a person. */
export function registerAlerts(alerts: Command, shell: Shell): void {
  defaultList(alerts, "list open alerts, worst first; 'ringrift alerts' does the same")
    .option(
      "--status <status>",
      `only with this status: ${ALERT_STATUSES.join(", ")}`,
      oneOf("--status", ALERT_STATUSES),
    )
    .option(
      "--severity <severity>",
      `only with this severity: ${ALERT_SEVERITIES.join(", ")}`,
      oneOf("--severity", ALERT_SEVERITIES),
    )
    .option("--all", "also list acknowledged and closed alerts")
    .option("--limit <n>", "list at most this many", wholeNumber("--limit", 1, 1_000), 50)
    .action((options: ListOptions) => list(options, shell));
  alerts
    .command("show")
    .description("show one alert: what happened, how often, and who was notified")
    .argument("<id>", "its id, or the last characters of it")
    .action((id: string) => show(id, shell));
  const decisions = [
    [
      "ack",
      acknowledgeAlert,
      "say that you are working on it; the alert stays open until its cause is gone or you close it",
    ],
    ["close", closeAlert, "close an alert; it opens again if its cause comes back"],
  ] as const;
  for (const [verb, route, about] of decisions)
    alerts
      .command(verb)
      .description(about)
      .argument("<id>", "its id, or the last characters of it")
      .option("--note <text>", "the reason, or what you are doing; it is recorded", sentence("--note"))
      .action((id: string, { note }: { note?: string }) => decide(route, id, note, shell));
}

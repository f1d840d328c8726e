import type { Command } from "commander";
import { ALERT_SEVERITIES, ALERT_STATUSES } from "../../cluster/alerts/alert.ts";
import { OperatingError, sayWhich } from "../../kernel/index.ts";
import { askEither, defaultList, showAnswer } from "../cli/answers.ts";
import { type Answering, askMain } from "../cli/main-process.ts";
import { answer, type Shell } from "../cli/shell.ts";
import { duration, plural, printable, wrapText } from "../cli/text.ts";
import { lengthOfTime, oneOf, sentence, wholeNumber } from "../cli/values.ts";
import { alertDetails, alertLines, muteWords, shortAlert } from "./view.ts";
import { acknowledgeAlert, closeAlert, getAlert, listAlerts, muteAlerts, unmuteAlerts } from "./wire.ts";

interface ListOptions {
  readonly status?: (typeof ALERT_STATUSES)[number];
  readonly severity?: (typeof ALERT_SEVERITIES)[number];
  readonly all?: boolean;
  readonly limit: number;
}

const list = ({ status, severity, all, limit }: ListOptions, shell: Shell) => {
  const wanted = status ?? (all === true ? undefined : "open");
  return showAnswer(shell, listAlerts, { query: { status: wanted, severity, limit } }, ({ alerts, mute }) => {
    const width = Math.min(shell.width, 120);
    const filtered = all === true || status !== undefined || severity !== undefined;
    const muted = mute == null ? [] : wrapText(muteWords(mute, shell), width).map(shell.paint.yellow);
    if (alerts.length === 0) return [...muted, filtered ? "no alerts" : "no open alerts"];
    const hint = "'ringrift alerts show <id>' shows details; 'ack' says that you are working on it; 'close' closes it.";
    return [...muted, ...alertLines(alerts, shell), "", ...wrapText(hint, width).map(shell.paint.dim)];
  });
};

const NOTHING_CHANGED = "; nothing was changed: this was a dry run";

interface MuteOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

const mute = (forMs: number, { reason, dryRun: dry_run }: MuteOptions, shell: Shell) =>
  showAnswer(shell, muteAlerts, { body: { seconds: forMs / 1_000, reason, dry_run } }, ({ applied }) =>
    applied
      ? `no alerts are sent for ${duration(forMs)}; they are recorded, and you get a summary at the end. 'ringrift alerts unmute' ends it now.`
      : `no alerts would be sent for ${duration(forMs)}${NOTHING_CHANGED}`,
  );

const unmute = ({ reason, dryRun: dry_run }: MuteOptions, shell: Shell) =>
  showAnswer(shell, unmuteAlerts, { body: { reason, dry_run } }, ({ mute: ended, applied }) => {
    if (ended === null) return "alerts are not muted";
    const held = ended.waiting === 0 ? "nothing waits" : `${plural(ended.waiting, "message")} waited`;
    return applied ? `alerts are sent again; ${held}` : `alerts would be sent again; ${held}${NOTHING_CHANGED}`;
  });

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
  const decided = (command: Command) =>
    command
      .option("--reason <text>", "the reason; it is recorded", sentence("--reason"))
      .option("--dry-run", "only show what would change");
  decided(
    alerts
      .command("mute")
      .description("send no alerts for some time, for example while you work on machines; they are recorded")
      .argument("<time>", "for how long, for example 2h; at most 7d", lengthOfTime("<time>", "7d")),
  ).action((forMs: number, options: MuteOptions) => mute(forMs, options, shell));
  decided(
    alerts.command("unmute").description("send alerts again, and one summary of those that were held back"),
  ).action((options: MuteOptions) => unmute(options, shell));
  for (const [verb, route, about] of decisions)
    alerts
      .command(verb)
      .description(about)
      .argument("<id>", "its id, or the last characters of it")
      .option("--note <text>", "the reason, or what you are doing; it is recorded", sentence("--note"))
      .action((id: string, { note }: { note?: string }) => decide(route, id, note, shell));
}

import type { Command } from "commander";
import type { Alert } from "../../cluster/index.ts";
import { isOperatingError } from "../../kernel/index.ts";
import { diagnose, isWell, type OpenAlerts } from "./diagnosis.ts";
import type { MainProcess } from "./main-process.ts";
import { negative, type Shell, unavailable } from "./shell.ts";
import type { StatusReport } from "./status-report.ts";
import { type StatusScreen, statusLine, statusLines } from "./status-view.ts";
import { ago, number, plural, printable } from "./text.ts";
import { decimal } from "./values.ts";
import { watch } from "./watch.ts";

interface Look extends StatusScreen {
  readonly atMs: number;
}

const MOST_ALERTS = 1_000;

/** How many alerts are open, by how bad they are; undefined where the process keeps none. */
async function openAlerts(main: MainProcess): Promise<OpenAlerts | undefined> {
  try {
    const { alerts } = await main.get<{ alerts: Alert[] }>(`/v1/alerts?status=open&limit=${MOST_ALERTS}`);
    const count = (severity: string) => alerts.filter((alert) => alert.severity === severity).length;
    return { critical: count("critical"), error: count("error"), warning: count("warning") };
  } catch (thrown) {
    if (isOperatingError(thrown, "ROUTE_NOT_FOUND")) return undefined;
    throw thrown;
  }
}

async function look(main: MainProcess, shell: Shell, before?: Look): Promise<Look> {
  const status = await main.get<StatusReport>("/status");
  const atMs = shell.clock.now();
  const alerts = await openAlerts(main);
  const events = status.router.total_events - (before?.status.router.total_events ?? 0);
  return {
    status,
    alerts,
    atMs,
    troubles: diagnose(status, atMs, alerts),
    port: main.endpoint.port,
    // A process that was restarted meanwhile counts from zero.
    perSecond: before === undefined || events < 0 ? undefined : (events / Math.max(1, atMs - before.atMs)) * 1_000,
  };
}

const inJson = ({ status, troubles, port, alerts }: Look, dataDir: string) => ({
  running: true,
  well: isWell(troubles),
  data_dir: dataDir,
  port,
  troubles,
  open_alerts: alerts ?? null,
  status,
});

/** Nothing runs: what the last process left behind, and how to start one. */
async function absent(shell: Shell): Promise<readonly string[]> {
  const { paint, main, json } = shell;
  const view = await shell.journals.viewIfAny();
  try {
    const [newest] = (await view?.history({ limit: 1 })) ?? [];
    const letters = await view?.deadLetterSummary();
    if (json) {
      shell.print({
        running: false,
        data_dir: main.dataDir,
        last_event_at: newest?.timestamp ?? null,
        dead_letters: letters?.counts ?? null,
      });
      return [];
    }
    const pending = letters?.counts.pending ?? 0;
    const left =
      view === undefined
        ? "There is no journal in it: nothing has run there yet."
        : newest === undefined
          ? "Its journal is empty."
          : `The last event in its journal is ${number(newest.seq ?? 0)}, ${ago(newest.timestamp * 1_000, shell.clock.now())}.`;
    return [
      paint.yellow(`nothing runs on ${printable(main.dataDir)}`),
      left,
      ...(pending === 0 ? [] : [`${plural(pending, "dead letter")} in it; 'ringrift dlq' shows them.`]),
      paint.dim(
        "'ringrift up' starts the main process; --data-dir chooses another folder; 'ringrift doctor' looks closer.",
      ),
    ];
  } finally {
    view?.close();
  }
}

async function once(shell: Shell): Promise<void> {
  const main = await shell.main.find();
  if (main === undefined) {
    for (const line of await absent(shell)) shell.say(line);
    throw unavailable();
  }
  try {
    const seen = await look(main, shell);
    if (shell.json) shell.print(inJson(seen, shell.main.dataDir));
    else for (const line of statusLines(seen, shell)) shell.say(line);
    if (!isWell(seen.troubles)) throw negative();
  } finally {
    main.close();
  }
}

async function again(shell: Shell, everySeconds: number): Promise<void> {
  let before: Look | undefined;
  await watch(shell, everySeconds, async () => {
    const main = await shell.main.find();
    if (main === undefined) {
      before = undefined;
      return absent(shell);
    }
    try {
      const seen = await look(main, shell, before);
      before = seen;
      if (shell.json) {
        shell.print(inJson(seen, shell.main.dataDir));
        return [];
      }
      return shell.io.isTerminal ? statusLines(seen, shell) : [statusLine(seen)];
    } finally {
      main.close();
    }
  });
}

/** `ringrift status`: one screen that a tired person understands. */
export function registerStatus(program: Command, shell: Shell): void {
  program
    .command("status")
    .description("is it well, what is wrong, what to do; exit code 1 when something needs you, 4 when nothing runs")
    .option("--watch", "look again and again until Ctrl-C")
    .option("--interval <seconds>", "with --watch", decimal("--interval", 0.1, 86_400), 2)
    .action(({ watch: on, interval }: { watch?: boolean; interval: number }) =>
      on === true ? again(shell, interval) : once(shell),
    );
}

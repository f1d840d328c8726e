import type { Command } from "commander";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { askMain, type MainProcess } from "./main-process.ts";
import { negative, type Shell } from "./shell.ts";
import type { DaemonRow } from "./status-report.ts";
import { duration, printable, shorten, wrapText } from "./text.ts";
import { whyDaemon } from "./why-daemon.ts";

export interface WhyReport {
  readonly subject: string;
  readonly kind: string;
  readonly verdict: string;
  readonly since: number | null;
  readonly gates: readonly {
    readonly gate: string;
    readonly passed: boolean;
    readonly actual: unknown;
    readonly required: unknown;
    readonly since: number | null;
    readonly hint: string | null;
  }[];
}

const text = (value: unknown): string => {
  if (value === null || value === undefined) return "";
  return printable(typeof value === "string" ? value : JSON.stringify(value));
};

const INDENT = 7;
const LABEL = 9;

/** A label and a text that may be broken, each line under the one before. */
function labelled(label: string, said: string, width: number): string[] {
  if (said === "") return [];
  return wrapText(said, width - INDENT - LABEL).map((line, i) => `${(i === 0 ? label : "").padEnd(LABEL)}${line}`);
}

/** The chain of gates, drawn: what passes, and at the first that does not, what is and what must be. */
export function whyLines(report: WhyReport, shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const width = Math.min(shell.width, 120);
  const span = (at: number | null) => (at === null ? "" : duration(Math.max(0, now - at * 1_000)));
  const lines = report.gates.flatMap((gate, i) => {
    const isLast = i === report.gates.length - 1;
    const branch = paint.dim(isLast ? "└─" : "├─");
    const name = printable(gate.gate);
    if (gate.passed) {
      const room = width - INDENT - name.length - 2;
      const actual = text(gate.actual);
      const beside = actual === "" || room < 8 ? "" : paint.dim(`  ${shorten(actual, room)}`);
      return [`  ${branch} ${paint.green(`✓ ${name}`)}${beside}`];
    }
    const below = [
      ...labelled("is", text(gate.actual), width),
      ...labelled("must be", text(gate.required), width),
      ...labelled("since", span(gate.since), width),
      ...(gate.hint === null ? [] : labelled("do", printable(gate.hint), width)),
    ];
    const stem = isLast ? " " : paint.dim("│");
    return [`  ${branch} ${paint.red(`✗ ${name}`)}`, ...below.map((line) => `  ${stem}    ${line}`)];
  });
  const isStopped = report.gates.some(({ passed }) => !passed);
  const verdict = (isStopped ? paint.red : paint.green)(printable(report.verdict));
  const since = span(report.since);
  return [
    `${paint.bold(printable(report.subject))} ${paint.dim(`(${printable(report.kind)})`)}: ${verdict}${since === "" ? "" : paint.dim(`, since ${since}`)}`,
    ...lines,
  ];
}

/** The main process's own answer; of a daemon its row tells the same where nobody gives one. */
async function ask(main: MainProcess, subject: string, nowMs: number): Promise<WhyReport> {
  try {
    return await main.get<WhyReport>(`/v1/why/${encodeURIComponent(subject)}`);
  } catch (thrown) {
    if (!isOperatingError(thrown, "ROUTE_NOT_FOUND")) throw thrown;
  }
  const row = await main.get<DaemonRow>(`/v1/daemons/${encodeURIComponent(subject)}`).catch((thrown: unknown) => {
    if (!isOperatingError(thrown, "UNKNOWN_DAEMON")) throw thrown;
    throw new OperatingError("UNKNOWN_DAEMON", thrown.message, { hint: "'ringrift daemons list' shows them all." });
  });
  return whyDaemon(row, nowMs / 1_000);
}

/** `ringrift why`: what stands between a subject and its work. */
export function registerWhy(program: Command, shell: Shell): void {
  program
    .command("why")
    .description(
      "why something runs or does not: each gate with what is and what must be; exit code 1 when one does not open",
    )
    .argument("<subject>", "the name of a daemon or unit")
    .action((subject: string) =>
      askMain(shell.main, async (main) => {
        const report = await ask(main, subject, shell.clock.now());
        if (shell.json) shell.print(report);
        else for (const line of whyLines(report, shell)) shell.say(line);
        if (report.gates.some(({ passed }) => !passed)) throw negative();
      }),
    );
}

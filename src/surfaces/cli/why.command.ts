import type { Command } from "commander";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { askMain } from "./main-process.ts";
import { negative, type Shell } from "./shell.ts";
import { duration, printable, shorten, wrapText } from "./text.ts";

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

/** What the process advises in words of its API, in words of this command line. */
export const asCommands = (hint: string): string =>
  hint
    .replaceAll(/POST \/v1\/daemons\/([\w.-]+)\/(start|stop|restart|reset|pause|resume)/g, "'ringrift daemons $2 $1'")
    .replaceAll(/GET \/v1\/daemon-actions/g, "'ringrift daemons show'")
    .replaceAll(/GET \/v1\/units|'\/v1\/units'/g, "'ringrift daemons list'");

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
      ...(gate.hint === null ? [] : labelled("do", printable(asCommands(gate.hint)), width)),
    ];
    const stem = isLast ? " " : paint.dim("│");
    return [`  ${branch} ${paint.red(`✗ ${name}`)}`, ...below.map((line) => `  ${stem}    ${line}`)];
  });
  const isStopped = report.gates.some(({ passed }) => !passed);
  const since = span(report.since);
  const [first = "", ...rest] = wrapText(
    `${printable(report.subject)} (${printable(report.kind)}): ${printable(report.verdict)}${since === "" ? "" : `, since ${since}`}`,
    width,
  );
  const color = isStopped ? paint.red : paint.green;
  return [paint.bold(color(first)), ...rest.map((line) => paint.bold(color(line))), ...lines];
}

/** `ringrift why`: what stands between a subject and its work. */
export function registerWhy(program: Command, shell: Shell): void {
  program
    .command("why")
    .description(
      "why something runs or does not: each gate with what is and what must be; exit code 1 when one does not open",
    )
    .argument("<subject>", "the name of a daemon or unit, a job (w17) or a node")
    .action((subject: string) =>
      askMain(shell.main, async (main) => {
        const path = `/v1/why/${encodeURIComponent(subject)}`;
        const report = await main.get<WhyReport>(path).catch((thrown: unknown) => {
          if (!isOperatingError(thrown) || thrown.hint === undefined) throw thrown;
          throw new OperatingError(thrown.code, thrown.message, { hint: asCommands(thrown.hint), cause: thrown });
        });
        if (shell.json) shell.print(report);
        else for (const line of whyLines(report, shell)) shell.say(line);
        if (report.gates.some(({ passed }) => !passed)) throw negative();
      }),
    );
}

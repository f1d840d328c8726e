import type { Command } from "commander";
import { askMain } from "./main-process.ts";
import { negative, type Shell } from "./shell.ts";
import { ago, printable, wrapText } from "./text.ts";

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

/** The chain of gates, drawn: what passes, and at the first that does not, what is and what must be. */
export function whyLines(report: WhyReport, shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const width = Math.min(shell.width, 120);
  const since = (at: number | null) => (at === null ? "" : `, since ${ago(at * 1_000, now).replace(/ ago$/, "")}`);
  const isStopped = report.gates.some(({ passed }) => !passed);
  const lines = report.gates.flatMap((gate, i) => {
    const isLast = i === report.gates.length - 1;
    const color = gate.passed ? paint.green : paint.red;
    const stem = isLast ? "   " : `${paint.dim("│")}  `;
    const values = [
      text(gate.actual) === "" ? "" : `is ${text(gate.actual)}`,
      gate.passed || text(gate.required) === "" ? "" : `must be ${text(gate.required)}`,
    ].filter((part) => part !== "");
    const said = `${values.join(", ")}${gate.passed ? "" : since(gate.since)}`;
    const below = [
      ...(said === "" ? [] : wrapText(said, width - 6)),
      ...(gate.passed || gate.hint === null ? [] : wrapText(`→ ${printable(gate.hint)}`, width - 6)),
    ];
    return [
      `  ${paint.dim(isLast ? "└─" : "├─")} ${color(`${gate.passed ? "✓" : "✗"} ${printable(gate.gate)}`)}`,
      ...below.map((line) => `  ${stem}  ${gate.passed ? paint.dim(line) : line}`),
    ];
  });
  const color = isStopped ? paint.red : paint.green;
  return [
    `${paint.bold(printable(report.subject))} ${paint.dim(`(${printable(report.kind)})`)}: ${color(printable(report.verdict))}${paint.dim(since(report.since))}`,
    ...lines,
  ];
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
        const report = await main.get<WhyReport>(`/v1/why/${encodeURIComponent(subject)}`);
        if (shell.json) shell.print(report);
        else for (const line of whyLines(report, shell)) shell.say(line);
        if (report.gates.some(({ passed }) => !passed)) throw negative();
      }),
    );
}

import type { Command } from "commander";
import type { SystemHealth } from "../../cluster/index.ts";
import { askMain } from "./main-process.ts";
import type { Paint } from "./paint.ts";
import { negative, type Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, duration, printable } from "./text.ts";

const BAR_WIDTH = 10;

const bar = (share: number): string => {
  const full = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)}`;
};

const gradeColor = (paint: Paint, share: number): ((text: string) => string) => {
  if (share >= 0.9) return paint.green;
  return share >= 0.6 ? paint.yellow : paint.red;
};

const MARK = { healthy: "✓", degraded: "!", unhealthy: "✗" } as const;

/** The verdict, why it is so, and what it is made of. */
function healthLines(report: SystemHealth, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const color = { healthy: paint.green, degraded: paint.yellow, unhealthy: paint.red }[report.status];
  const score = (value: number) => String(Math.round(value));
  const since = report.since === null ? "" : paint.dim(`, since ${duration(Math.max(0, now - report.since * 1_000))}`);
  const parts = report.parts.map((part): Cell[] => [
    { text: `  ${printable(part.name)}` },
    { text: bar(part.score / 100), paint: gradeColor(paint, part.score / 100) },
    { text: score(part.score), align: "right" },
    { text: `× ${part.weight}`, paint: paint.dim },
    { text: printable(part.message) },
  ]);
  const ailing = report.components.filter(({ breaker, errors }) => breaker !== "closed" || errors > 0);
  const components = ailing.map((each): Cell[] => [
    { text: `  ${printable(each.component)}` },
    { text: `breaker ${each.breaker}`, paint: each.breaker === "closed" ? paint.dim : paint.red },
    { text: `${each.errors} errors` },
    {
      text: [
        printable(each.last_error ?? ""),
        each.last_error_at === null ? "" : `(${ago(each.last_error_at * 1_000, now)})`,
      ]
        .filter((text) => text !== "")
        .join(" "),
    },
  ]);
  return [
    color(paint.bold(`${MARK[report.status]} ${report.status}, ${score(report.score)} of 100`)),
    `  ${report.accepts_new_work ? "new work is taken" : paint.red("new work is refused")}${since}`,
    ...report.reasons.map((reason) => `  ${color("·")} ${printable(reason)}`),
    ...(parts.length === 0 ? [] : ["", "parts", ...tableLines(parts, shell)]),
    ...(components.length === 0 ? [] : ["", "components with trouble", ...tableLines(components, shell)]),
  ];
}

/** `ringrift health`: how well the system does, from what it is made of. */
export function registerHealth(program: Command, shell: Shell): void {
  program
    .command("health")
    .description(
      "how well the system does, part by part, and whether it takes new work; exit code 1 unless it is healthy",
    )
    .action(() =>
      askMain(shell.main, async (main) => {
        const report = await main.get<SystemHealth>("/health");
        if (shell.json) shell.print(report);
        else for (const line of healthLines(report, shell)) shell.say(line);
        if (report.status !== "healthy") throw negative();
      }),
    );
}

import type { Command } from "commander";
import { askMain } from "../cli/main-process.ts";
import type { Paint } from "../cli/paint.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { right, sectionLines } from "../cli/table.ts";
import { ago, duration, plural, printable } from "../cli/text.ts";
import { markOf } from "../status/verdict.ts";
import { paintMark, troubleLines } from "../status/view.ts";
import { getHealth, type Health } from "./wire.ts";

const BAR_WIDTH = 10;

const bar = (share: number): string => {
  const full = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)}`;
};

const gradeColor = (paint: Paint, share: number): ((text: string) => string) => {
  if (share >= 0.9) return paint.green;
  return share >= 0.6 ? paint.yellow : paint.red;
};

/** The verdict, why it is so, and what it is made of. */
function healthLines(report: Health, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  // What stands in 'status' stands here: a cause that needs somebody now is no small thing, however high the score is.
  const worst = markOf(report.causes);
  const mark = report.status === "unhealthy" ? "✗" : report.status === "degraded" && worst !== "✗" ? "!" : worst;
  const color = paintMark(paint, mark);
  const score = (value: number) => String(Math.round(value));
  const since = report.since === null ? "" : paint.dim(`, for ${duration(Math.max(0, now - report.since))}`);
  const parts = report.parts.map((part) => [
    `  ${printable(part.name)}`,
    gradeColor(paint, part.score / 100)(bar(part.score / 100)),
    right(score(part.score)),
    paint.dim(`× ${part.weight}`),
    printable(part.message),
  ]);
  const ailing = report.components.filter(({ breaker, errors }) => breaker !== "closed" || errors > 0);
  const components = ailing.map((each) => [
    `  ${printable(each.component)}`,
    (each.breaker === "closed" ? paint.dim : paint.red)(`breaker ${each.breaker}`),
    plural(each.errors, "error"),
    [printable(each.last_error ?? ""), each.last_error_at === null ? "" : `(${ago(each.last_error_at, now)})`]
      .filter((text) => text !== "")
      .join(" "),
  ]);
  const isCause = (reason: string) => report.causes.some(({ what }) => what === reason);
  return [
    color(paint.bold(`${mark} ${report.status}`)) + since,
    ...(report.status === "unhealthy" ? ["  jobs are still handed out"] : []),
    ...troubleLines(
      report.causes.filter(({ code }) => code !== "health"),
      shell,
    ),
    ...report.reasons.filter((reason) => !isCause(reason)).map((reason) => `  ${color("·")} ${printable(reason)}`),
    ...sectionLines(`parts: ${score(report.score)} of 100`, parts, shell),
    ...sectionLines("components with trouble", components, shell),
  ];
}

/** `ringrift health`: how well the system does, from what it is made of. */
export function registerHealth(command: Command, shell: Shell): void {
  command.action(() =>
    askMain(shell.main, async (main) => {
      const raw = await main.raw(getHealth);
      answer(shell, raw, () => healthLines(main.read(getHealth, raw), shell));
      if (raw.status !== "healthy") throw negative();
    }),
  );
}

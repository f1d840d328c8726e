/** `npm test`: everything that must hold before a change lands, step by step, with what failed and how to run just that. */
import { mkdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { didYouMean, messageOf } from "../src/kernel/index.ts";
import { OperatingError, ROOT, reportAndExit } from "./parts/root.ts";
import { runCommand } from "./parts/run-command.ts";
import { type Step, steps } from "./parts/steps.ts";

const LOGS = join(ROOT, ".check");
const SHOWN_LINES = 150;

const USAGE = `Usage: node tools/check.ts [options]

  --only a,b    just these steps
  --list        names and what each is about
  --help        this text

With CI=true a skipped test is a failure. The whole output of each step is kept in .check/.
`;

interface Result {
  readonly step: Step;
  readonly ok: boolean;
}

const say = (text: string) => void process.stdout.write(`${text}\n`);

const parse = () => {
  try {
    return parseArgs({
      options: { only: { type: "string" }, list: { type: "boolean" }, help: { type: "boolean" } },
    }).values;
  } catch (thrown) {
    throw new OperatingError("USAGE", messageOf(thrown), { cause: thrown, hint: "Try --help." });
  }
};

function pick(only: string | undefined): readonly Step[] {
  if (only === undefined) return steps;
  const known = steps.map(({ name }) => name);
  const names = only.split(",").map((name) => name.trim());
  for (const name of names)
    if (!known.includes(name))
      throw new OperatingError("USAGE_STEP", `there is no step '${name}'.${didYouMean(name, known)}`, {
        hint: `There are: ${known.join(", ")}.`,
      });
  return steps.filter(({ name }) => names.includes(name));
}

/** Neighbours of one group belong together; everybody else is alone. */
function grouped(all: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of all) {
    const last = groups.at(-1);
    if (last !== undefined && step.group !== undefined && last[0]!.group === step.group) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

const lastLine = (output: string): string => output.trimEnd().split("\n").at(-1)?.trim() ?? "";

async function run(step: Step, strict: boolean, signal: AbortSignal): Promise<Result> {
  const logFile = join(LOGS, `${step.name}.log`);
  const reportFile = join(LOGS, `${step.name}.json`);
  rmSync(reportFile, { force: true });
  say(`...  ${step.name}: ${step.about}`);
  const startMs = performance.now();
  const { code, output, ended } = await runCommand({
    file: process.execPath,
    args: step.args(reportFile),
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: "1" },
    timeoutMs: step.timeoutMs,
    signal,
    logFile,
  });
  const took = `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  const verdict = step.judge?.(reportFile, strict);
  const problems = [...(verdict?.problems ?? [])];
  if (ended === "timeout") problems.push(`it did not end within ${step.timeoutMs / 60_000} minutes`);
  else if (ended === "interrupted") problems.push("it was interrupted");
  else if (code !== 0 && problems.length === 0) problems.push(`exit code ${code}`);
  const ok = problems.length === 0;
  if (!ok && ended !== "interrupted") {
    const lines = output.trimEnd().split("\n");
    const cut = lines.length > SHOWN_LINES ? [`(the last ${SHOWN_LINES} of ${lines.length} lines)`] : [];
    say(
      ["", `---- ${step.name}`, ...cut, ...lines.slice(-SHOWN_LINES), ...problems.map((each) => `!! ${each}`)].join(
        "\n",
      ),
    );
    say(`---- ${step.name}: all of it in ${relative(process.cwd(), logFile)}\n`);
  }
  for (const warning of verdict?.warnings ?? []) say(`warn ${warning}`);
  say(
    `${ok ? "ok  " : "FAIL"} ${step.name.padEnd(14)} ${took.padStart(8)}  ${verdict?.summary ?? (ok ? lastLine(output) : problems[0])}`,
  );
  return { step, ok };
}

async function check(): Promise<number> {
  const { only, list, help } = parse();
  if (help) say(USAGE.trimEnd());
  if (list) for (const { name, about } of steps) say(`${name.padEnd(14)} ${about}`);
  if (help || list) return 0;
  const picked = pick(only);
  const strict = process.env.CI === "true";
  mkdirSync(LOGS, { recursive: true });

  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupt.abort());
  const startMs = performance.now();
  const results: Result[] = [];
  for (const group of grouped(picked)) {
    if (interrupt.signal.aborted) break;
    results.push(...(await Promise.all(group.map((step) => run(step, strict, interrupt.signal)))));
  }

  const failed = results.filter(({ ok }) => !ok).map(({ step }) => step.name);
  say("");
  for (const name of failed) say(`failed: ${name.padEnd(14)} again: node tools/check.ts --only ${name}`);
  if (interrupt.signal.aborted) say(`interrupted: ${picked.length - results.length} steps did not run`);
  say(`${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  say(`${results.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 && !interrupt.signal.aborted ? 0 : 1;
}

await reportAndExit(check);

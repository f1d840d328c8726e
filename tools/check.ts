/** `npm test`: everything that must hold before a change lands, step by step, with what failed and how to run just that. */
import { mkdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { didYouMean } from "../src/kernel/index.ts";
import { COMPILE_CACHE, COMPILED, trimCompiled } from "../test/support/compiled.ts";
import { SLOWNESS } from "../test/support/patience.ts";
import { childrenMs } from "./parts/children.ts";
import { OperatingError, ROOT, readArguments, reportAndExit, say, untilInterrupted } from "./parts/root.ts";
import { runCommand } from "./parts/run-command.ts";
import { measureSpeed, slownessOf } from "./parts/slowness.ts";
import { type Step, steps } from "./parts/steps.ts";

const LOGS = join(ROOT, ".check");
const SHOWN_LINES = 150;

const USAGE = `Usage: node tools/check.ts [options]

  --only a,b    just these steps
  --list        names and what each is about
  --help        this text

With CI=true a skipped test is a failure. The whole output of each step is kept in .check/.

Limits of time are those of a quiet machine with two cores. How slow this one is just now is measured before each step and
multiplies them; ${SLOWNESS}=4 in the environment says it is at least so slow.
`;

interface Result {
  readonly step: Step;
  readonly ok: boolean;
  readonly warnings: readonly string[];
}

function pick(only: string | undefined): readonly Step[] {
  if (only === undefined) return steps;
  const known = steps.map(({ name }) => name);
  const names = only.split(",").map((name) => name.trim());
  for (const name of names)
    if (!known.includes(name))
      throw OperatingError.invalid("USAGE_STEP", `there is no step '${name}'.${didYouMean(name, known)}`, {
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

interface Circumstances {
  readonly strict: boolean;
  /** What every limit is multiplied by. */
  readonly slow: number;
  readonly signal: AbortSignal;
}

async function run(step: Step, { strict, slow, signal }: Circumstances): Promise<Result> {
  const logFile = join(LOGS, `${step.name}.log`);
  const [reportFile, againFile] = [join(LOGS, `${step.name}.json`), join(LOGS, `${step.name}.again.json`)];
  for (const old of [reportFile, againFile]) rmSync(old, { force: true });
  say(`...  ${step.name}: ${step.about}`);
  const startMs = performance.now();
  const timeoutMs = step.timeoutMs * slow;
  const start = (args: readonly string[], file: string) =>
    runCommand({
      file: process.execPath,
      args,
      cwd: ROOT,
      env: { [COMPILE_CACHE]: COMPILED, ...process.env, NO_COLOR: "1", [SLOWNESS]: String(slow) },
      timeoutMs,
      signal,
      logFile: file,
    });
  let { code, output, ended } = await start(step.args(reportFile), logFile);
  const again = ended === undefined && code !== 0 ? step.again?.(reportFile, againFile) : undefined;
  if (again !== undefined) {
    say(`...  ${step.name}: what failed, once more and alone; the first try is in ${relative(process.cwd(), logFile)}`);
    ({ code, output, ended } = await start(again, join(LOGS, `${step.name}.again.log`)));
  }
  const took = `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  const verdict = step.judge?.(reportFile, strict, again === undefined ? undefined : againFile);
  const problems = [...(verdict?.problems ?? [])];
  if (ended === "timeout") problems.push(`it did not end within ${(timeoutMs / 60_000).toFixed(0)} minutes`);
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
  return { step, ok, warnings: verdict?.warnings ?? [] };
}

async function check(): Promise<number> {
  const options = { only: { type: "string" }, list: { type: "boolean" }, help: { type: "boolean" } } as const;
  const { only, list, help } = readArguments({ options }).values;
  if (help) say(USAGE.trimEnd());
  if (list) for (const { name, about } of steps) say(`${name.padEnd(14)} ${about}`);
  if (help || list) return 0;
  const picked = pick(only);
  const strict = process.env.CI === "true";
  mkdirSync(LOGS, { recursive: true });
  trimCompiled();

  const signal = untilInterrupted();
  const startMs = performance.now();
  const results: Result[] = [];
  // Others may come and go while this runs; the load of the last minute is ours from the second step on.
  let slow = Math.max(slownessOf(measureSpeed()), Number(process.env[SLOWNESS] ?? 1));
  if (slow > 1)
    say(`this machine takes ${slow} times as long as a quiet one with two cores; limits are as much longer`);
  for (const group of grouped(picked)) {
    if (signal.aborted) break;
    slow = Math.max(slow, slownessOf({ ...measureSpeed(), load: 0 }));
    // Side by side they slow each other down.
    const circumstances = { strict, slow: slow * Math.max(1, group.length / 2), signal };
    const [fromMs, before] = [performance.now(), childrenMs()];
    results.push(...(await Promise.all(group.map((step) => run(step, circumstances)))));
    const seconds = (performance.now() - fromMs) / 1_000;
    const processor = (childrenMs() - before) / 1_000;
    if (processor > 0)
      say(
        `     ${processor.toFixed(0)} s of processor in ${seconds.toFixed(0)} s: ${(processor / seconds).toFixed(1)} at work`,
      );
  }

  const failed = results.filter(({ ok }) => !ok).map(({ step }) => step.name);
  say("");
  // Said where it came up, and where nobody can overlook it.
  for (const { warnings } of results) for (const warning of warnings) say(`warn ${warning}`);
  for (const name of failed) say(`failed: ${name.padEnd(14)} again: node tools/check.ts --only ${name}`);
  if (signal.aborted) say(`interrupted: ${picked.length - results.length} steps did not run`);
  say(`${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  say(`${results.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 && !signal.aborted ? 0 : 1;
}

await reportAndExit(check);

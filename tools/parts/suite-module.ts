/** Runs one module of a suite in a process of its own; started as a program, it is that process. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath, pathToFileURL } from "node:url";
import { defined } from "../../src/kernel/index.ts";
import { patience } from "../../test/support/patience.ts";
import { killGroup } from "./run-command.ts";
import { type Goals, goalsIn } from "./suite-goals.ts";

export interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly duration_ms: number;
  readonly result?: unknown;
  /** The result as the module prints it for people. */
  readonly printed?: string;
  /** How many goals of speed its result names, and those that it missed. */
  readonly goals: Goals;
  readonly error?: string;
}

export interface RunOptions {
  /** Options for `run()`; they win over those of the tiny size. */
  readonly options: Readonly<Record<string, unknown>>;
  /** At the size that the module exports as `tiny`. */
  readonly tiny: boolean;
  /** When it has not ended by then, it is ended. */
  readonly limitMs?: number;
  /** One that has answered and holds on to something is ended after this. */
  readonly leaveMs?: number | undefined;
}

interface SuiteModule {
  run(options: Record<string, unknown>): unknown;
  print?(result: unknown): string;
  readonly tiny?: Readonly<Record<string, unknown>>;
}

type Answer = Pick<Outcome, "result" | "printed" | "error">;

const SELF = fileURLToPath(import.meta.url);
const LEAVE_MS = patience(10_000);
const KILL_AFTER_MS = patience(2_000);

const refused = (result: unknown): boolean =>
  typeof result === "object" && result !== null && (result as { ok?: unknown }).ok === false;

export async function runModule(name: string, file: string, how: RunOptions): Promise<Outcome> {
  const startMs = performance.now();
  const child = fork(SELF, [file, JSON.stringify({ options: how.options, tiny: how.tiny })], {
    execArgv: ["--expose-gc"],
    // What it prints on the way is for people, never part of the report.
    stdio: ["ignore", process.stderr, process.stderr, "ipc"],
    // It leads a group, so that what it started ends with it.
    detached: true,
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on("SIGINT", forward).on("SIGTERM", forward);
  let cut: string | undefined;
  const endAfter = (ms: number, why: string) =>
    setTimeout(() => {
      cut = why;
      // First in order, so that it can end what leads a group of its own.
      child.kill("SIGTERM");
      timers.push(setTimeout(() => killGroup(child, "SIGKILL"), KILL_AFTER_MS));
    }, ms);
  const timers: NodeJS.Timeout[] = [];
  if (how.limitMs !== undefined)
    timers.push(endAfter(how.limitMs, `it did not end within ${Math.round(how.limitMs / 1_000)} s`));
  let answer: Answer | undefined;
  child.on("message", (message) => {
    answer = message as Answer;
    timers.push(
      endAfter(how.leaveMs ?? LEAVE_MS, "it had its result, and did not end: something that it started is left"),
    );
  });
  const [code, signal] = await once(child, "exit");
  for (const timer of timers) clearTimeout(timer);
  killGroup(child, "SIGKILL");
  process.off("SIGINT", forward).off("SIGTERM", forward);
  const duration_ms = Math.round(performance.now() - startMs);
  // A process that ended without an answer, or badly after it, did not hold.
  const ended =
    cut ?? (signal === null ? (code === 0 ? undefined : `it ended with exit code ${code}`) : `${signal} ended it`);
  const error = answer?.error ?? ended ?? (answer === undefined ? "it ended without a result" : undefined);
  return {
    name,
    ok: error === undefined && !refused(answer?.result),
    duration_ms,
    ...answer,
    goals: goalsIn(answer?.result),
    ...defined({ error }),
  };
}

/** Where putting things away fails as well, what went wrong first is told first. */
function troubleOf(thrown: unknown): string {
  if (thrown instanceof SuppressedError)
    return `${troubleOf(thrown.suppressed)}\nand then, while it was put away: ${troubleOf(thrown.error)}`;
  if (!(thrown instanceof Error)) return String(thrown);
  const because = thrown.cause === undefined ? "" : `\nbecause of ${troubleOf(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${because}`;
}

async function answerOf(file: string, { options, tiny }: RunOptions): Promise<Answer> {
  try {
    const module = (await import(pathToFileURL(file).href)) as SuiteModule;
    if (tiny && module.tiny === undefined)
      throw new Error("it exports no `tiny`: the options with which run() takes seconds");
    // Through JSON, as the report will have it.
    const given = { ...(tiny ? module.tiny : {}), ...options };
    const result: unknown = JSON.parse(JSON.stringify((await module.run(given)) ?? null));
    return { result, ...(module.print === undefined ? {} : { printed: module.print(result) }) };
  } catch (thrown) {
    return { error: troubleOf(thrown) };
  }
}

if (process.argv[1] === SELF && process.send !== undefined) {
  const [file, how] = process.argv.slice(2);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const answer = await answerOf(file!, JSON.parse(how!));
  process.send(answer, () => {
    // What failed half-way cannot have put everything away; what held must have, or it is told that something is left.
    if (answer.error !== undefined) process.exit(0);
    process.disconnect();
  });
}

/** Runs one module of a suite in a process of its own; started as a program, it is that process. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly duration_ms: number;
  readonly result?: unknown;
  /** The result as the module prints it for people. */
  readonly printed?: string;
  readonly error?: string;
}

interface SuiteModule {
  run(options: Record<string, unknown>): unknown;
  print?(result: unknown): string;
}

type Answer = Pick<Outcome, "result" | "printed" | "error">;

const SELF = fileURLToPath(import.meta.url);

const refused = (result: unknown): boolean =>
  typeof result === "object" && result !== null && (result as { ok?: unknown }).ok === false;

export async function runModule(name: string, file: string, options: Record<string, unknown>): Promise<Outcome> {
  const startMs = performance.now();
  const child = fork(SELF, [file, JSON.stringify(options)], {
    execArgv: ["--expose-gc"],
    // What it prints on the way is for people, never part of the report.
    stdio: ["ignore", process.stderr, process.stderr, "ipc"],
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on("SIGINT", forward).on("SIGTERM", forward);
  let answer: Answer | undefined;
  child.on("message", (message) => {
    answer = message as Answer;
  });
  const [code, signal] = await once(child, "exit");
  process.off("SIGINT", forward).off("SIGTERM", forward);
  const duration_ms = Math.round(performance.now() - startMs);
  // A process that ended without an answer, or badly after it, did not hold.
  const ended = signal === null ? (code === 0 ? undefined : `it ended with exit code ${code}`) : `${signal} ended it`;
  const error = answer?.error ?? ended ?? (answer === undefined ? "it ended without a result" : undefined);
  return {
    name,
    ok: error === undefined && !refused(answer?.result),
    duration_ms,
    ...answer,
    ...(error === undefined ? {} : { error }),
  };
}

async function answerOf(file: string, options: Record<string, unknown>): Promise<Answer> {
  try {
    const module = (await import(pathToFileURL(file).href)) as SuiteModule;
    // Through JSON, as the report will have it.
    const result: unknown = JSON.parse(JSON.stringify((await module.run(options)) ?? null));
    return { result, ...(module.print === undefined ? {} : { printed: module.print(result) }) };
  } catch (thrown) {
    return { error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) };
  }
}

if (process.argv[1] === SELF && process.send !== undefined) {
  const [file, options] = process.argv.slice(2);
  const answer = await answerOf(file!, JSON.parse(options!));
  // The channel keeps the process alive; closed after the answer, only a leak of the module still can.
  process.send(answer, () => process.disconnect());
}

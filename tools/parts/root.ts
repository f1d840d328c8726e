import { realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { isOperatingError, messageOf, OperatingError } from "../../src/kernel/index.ts";

export { OperatingError } from "../../src/kernel/index.ts";

/** The folder of the repository. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The script behind a command of a development dependency, to be run by the Node that runs us. */
export const scriptOf = (command: string): string => realpathSync(join(ROOT, "node_modules", ".bin", command));

/**
 * The compiler of TypeScript 7: a quarter of the time of the one before. That one stays beside it, since 7 has no API yet for the
 * tools that read our sources.
 */
export const COMPILER = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");

/**
 * Checkers side by side look the same things up, each for itself: on two cores, where others run as well, one alone is as quick for
 * half of the processor time.
 */
export const COMPILER_THREADS: readonly string[] = availableParallelism() > 2 ? [] : ["--singleThreaded"];

/** Whether the module with this URL is the program that was started, and not imported by another. */
export const isProgram = (url: string): boolean =>
  process.argv[1] !== undefined && url === pathToFileURL(realpathSync(process.argv[1])).href;

/** Runs a tool, which answers with its exit code. An error of operation is told in two lines; anything else is a bug of the tool and shows where. */
export async function reportAndExit(run: () => Promise<number> | number): Promise<void> {
  try {
    process.exitCode = await run();
  } catch (thrown) {
    process.exitCode = 1;
    if (!isOperatingError(thrown)) throw thrown;
    process.stderr.write(`error: ${messageOf(thrown)}\n${thrown.hint === undefined ? "" : `  ${thrown.hint}\n`}`);
    if (thrown.kind === "invalid") process.exitCode = thrown.exitCode;
  }
}

/** A line on standard output. */
export const say = (text: string) => void process.stdout.write(`${text}\n`);

/** The arguments of a tool; what is wrong with them is told to whoever wrote them. */
export function readArguments<const T extends ParseArgsConfig>(config: T, hint = "Try --help.") {
  try {
    return parseArgs(config);
  } catch (cause) {
    throw OperatingError.invalid("USAGE", messageOf(cause), { cause, hint });
  }
}

/** Aborts when the tool is told to end, so that it can end first what it started. */
export function untilInterrupted(): AbortSignal {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupt.abort());
  return interrupt.signal;
}

import { type Environment, isOperatingError, messageOf, translateDiskFault } from "../../kernel/index.ts";
import { printableLines } from "./text.ts";

/** What a command may touch of the outside. Tests give it a recorder; the program gives it the terminal. */
export interface CliIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Environment;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadableStream;
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Lines of the terminal, where it is known. */
  readonly rows?: number;
  /** Whether standard error is a terminal too. */
  readonly errIsTerminal?: boolean;
  /** Aborts on SIGINT and SIGTERM: long commands end cleanly. */
  readonly signal: AbortSignal;
  /** Who can end quicker than in order is called at the second signal; without, that one ends the process. */
  readonly onForce?: (run: () => void) => () => void;
}

/** Exit codes are part of the interface and never change their meaning. */
export const EXIT = {
  ok: 0,
  /** The command ran, and its answer is "no": an audit that fails, a check that does not hold. */
  negative: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** What was asked for does not exist. */
  notFound: 3,
  /** The system is not there or cannot serve now; trying later may help. */
  unavailable: 4,
  /** Anything else went wrong. */
  failed: 5,
} as const;

/** Tells a person (or, under --json, a program) what went wrong and what to do next; gives the exit code. */
export function reportFailure(failure: unknown, io: Pick<CliIo, "err">, json: boolean): number {
  // A full disk, or a folder that is not ours, is nobody's bug, whichever file was the first to meet it.
  const thrown = translateDiskFault(failure);
  const known = isOperatingError(thrown);
  if (json) {
    const error = {
      code: known ? thrown.code : "INTERNAL",
      message: messageOf(thrown),
      hint: known ? thrown.hint : undefined,
    };
    io.err(`${JSON.stringify({ error })}\n`);
  } else {
    io.err(`error: ${printableLines(messageOf(thrown))}\n`);
    if (known && thrown.hint) io.err(`  ${printableLines(thrown.hint)}\n`);
    if (!known && thrown instanceof Error && thrown.stack) io.err(`${printableLines(thrown.stack)}\n`);
  }
  return known ? thrown.exitCode : EXIT.failed;
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { systemCode } from "../../src/kernel/index.ts";

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
  /** Ends the command early, with all that it started. */
  readonly signal: AbortSignal;
  /** Where its whole output goes. */
  readonly logFile: string;
}

export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
  /** What ended it, when it did not end by itself. */
  readonly ended: "timeout" | "interrupted" | undefined;
}

const KILL_AFTER_MS = 5_000;
const KEPT_CHARACTERS = 2 ** 20;

/** Signals a process that leads a group, and all that it started. What is gone needs no signal. */
export function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (thrown) {
    if (systemCode(thrown) !== "ESRCH") throw thrown;
  }
}

/** Runs a command in a process group of its own, so that when it is ended nothing of it stays behind. */
export async function runCommand(command: Command): Promise<CommandResult> {
  const { file, args, cwd, env, timeoutMs, signal, logFile } = command;
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const log = createWriteStream(logFile);
  let output = "";
  const keep = (chunk: Buffer) => {
    log.write(chunk);
    output = (output + chunk.toString("utf8")).slice(-KEPT_CHARACTERS);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);

  let ended: CommandResult["ended"];
  let killTimer: NodeJS.Timeout | undefined;
  const end = (reason: "timeout" | "interrupted") => {
    ended ??= reason;
    killGroup(child, "SIGTERM");
    killTimer ??= setTimeout(() => killGroup(child, "SIGKILL"), KILL_AFTER_MS);
  };
  const timer = setTimeout(() => end("timeout"), timeoutMs);
  const interrupted = () => end("interrupted");
  signal.addEventListener("abort", interrupted);
  if (signal.aborted) interrupted();
  try {
    const closed = once(child, "close");
    child.once("exit", () => {
      // What it left running holds the pipes open; end that before waiting for the rest of the output.
      killGroup(child, "SIGKILL");
    });
    const [code] = (await closed) as [number | null];
    return { code, output, ended };
  } catch (thrown) {
    return { code: null, output: `could not start ${file}: ${String(thrown)}`, ended };
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    signal.removeEventListener("abort", interrupted);
    await new Promise<void>((resolve) => log.end(resolve));
  }
}

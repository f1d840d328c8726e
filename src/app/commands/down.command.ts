import { type Command, Option } from "commander";
import { isOperatingError, OperatingError, sleep } from "../../kernel/index.ts";
import {
  answer,
  duration,
  lengthOfTime,
  type MainProcess,
  negative,
  printable,
  type Shell,
} from "../../surfaces/commands/index.ts";
import { findEndpoint } from "../../surfaces/index.ts";
import { shutDown } from "../../surfaces/system/wire.ts";
import { findHolder, holdsLock, isGone } from "../data-folder/own-process.ts";

const TIMEOUT_MS = 60_000;
const KILLED_LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 50;
const SAY_EVERY_MS = 5_000;

interface DownOptions {
  readonly force?: boolean;
  readonly timeout: number;
}

/** What was done, in the order in which it was done. */
interface Outcome {
  readonly stopped: boolean;
  readonly asked: "api" | "signal" | null;
  readonly killed: boolean;
}

/** The main process of the folder, by what it wrote down or by the lock that it holds. */
function findPid(dataDir: string): number | undefined {
  const written = findEndpoint(dataDir)?.pid;
  if (written !== undefined && holdsLock(written, dataDir) !== false) return written;
  return findHolder(dataDir);
}

/** A signal goes to nobody of whom it is not certain. */
function signalOurs(pid: number, dataDir: string, signal: NodeJS.Signals, answered: boolean): void {
  if (holdsLock(pid, dataDir) !== true && !answered)
    throw OperatingError.denied("NOT_OURS", `it is not certain that process ${pid} is the main process of ${dataDir}`, {
      hint: `Look at that process. If it is the right one, end it with 'kill ${pid}' if it is.`,
    });
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ESRCH") throw thrown;
  }
}

/** Asks over the API; false where the process does not know the question or does not answer. */
async function askToEnd(main: MainProcess | undefined, reason: string): Promise<boolean> {
  try {
    await main?.call(shutDown, { body: { reason } });
    return main !== undefined;
  } catch (thrown) {
    if (isOperatingError(thrown, "ROUTE_NOT_FOUND") || isOperatingError(thrown, "UNREACHABLE")) return false;
    throw thrown;
  }
}

async function waitUntilGone(pid: number, limitMs: number, shell: Shell): Promise<boolean> {
  const { clock, io } = shell;
  const began = clock.monotonic();
  let saidAt = began;
  while (!isGone(pid)) {
    const now = clock.monotonic();
    if (now - began >= limitMs || io.signal.aborted) return false;
    if (now - saidAt >= SAY_EVERY_MS) {
      saidAt = now;
      shell.note(`process ${pid} is still ending, ${duration(now - began)} so far`);
    }
    // Cut short by Ctrl-C, the wait ends the loop by itself.
    await sleep(clock, LOOK_EVERY_MS, io.signal).catch(() => undefined);
  }
  return true;
}

async function down({ force = false, timeout }: DownOptions, shell: Shell): Promise<void> {
  const { clock, main: processes } = shell;
  const { dataDir } = processes;
  const pid = findPid(dataDir);
  const began = clock.monotonic();
  const report = (outcome: Outcome, text: string) => {
    const waited_seconds = Math.round(clock.monotonic() - began) / 1_000;
    answer(shell, { pid: pid ?? null, ...outcome, waited_seconds }, () => text);
  };
  if (pid === undefined)
    return report(
      { stopped: true, asked: null, killed: false },
      `nothing is running on ${printable(dataDir)}: nothing to stop`,
    );
  const main = await processes.find();
  const answered = main?.endpoint.pid === pid;
  let asked: Outcome["asked"] = "api";
  try {
    if (!(await askToEnd(answered ? main : undefined, `asked by ${shell.actor}`))) {
      signalOurs(pid, dataDir, "SIGTERM", answered);
      asked = "signal";
    }
  } finally {
    main?.[Symbol.dispose]();
  }
  const how = asked === "api" ? "asked over its API" : "sent SIGTERM";
  const took = () => duration(clock.monotonic() - began);
  if (await waitUntilGone(pid, timeout, shell))
    return report({ stopped: true, asked, killed: false }, `process ${pid} has stopped: ${how}, ended after ${took()}`);
  if (!force || shell.io.signal.aborted) {
    report(
      { stopped: false, asked, killed: false },
      `process ${pid} was ${how} and still runs after ${took()}\n  'ringrift down --force' kills it when it does not end in time; 'ringrift daemons list' shows what it waits for`,
    );
    throw negative();
  }
  signalOurs(pid, dataDir, "SIGKILL", answered);
  const stopped = await waitUntilGone(pid, KILLED_LIMIT_MS, shell);
  report(
    { stopped, asked, killed: true },
    `process ${pid} was ${how}, did not end in ${duration(timeout)}, and was killed; what was committed is safe`,
  );
  if (!stopped) throw negative();
}

/** `ringrift down`: ends the main process of the data folder and comes back when it is gone. */
export function registerDown(command: Command, shell: Shell): void {
  command
    .option("--force", "kill it if it has not ended in time")
    .addOption(
      new Option("--timeout <time>", "how long to wait for a clean end")
        .argParser(lengthOfTime("--timeout"))
        .default(TIMEOUT_MS, "60s"),
    )
    .action((options: DownOptions) => down(options, shell));
}

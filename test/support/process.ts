/**
 * Real processes for tests: started, listened to, killed, and never left behind.
 *
 * `owned(onTestFinished)` gives a test an owner of processes and folders. When the test ends, well or badly, everything
 * that the owner started is ended, with all that it started in turn, and its folders are removed. Outside of a test runner
 * use `await using own = owned()`.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { defined } from "../../src/kernel/index.ts";
import { patience } from "./patience.ts";

/** `ringrift` of this checkout: the bundle that is kept of it while that is fresh, and the sources otherwise. */
export const CLI = fileURLToPath(new URL("../../bin/ringrift.js", import.meta.url));
const LINE_TIMEOUT_MS = patience(60_000);
const STOP_TIMEOUT_MS = patience(30_000);
const TAIL_LINES = 40;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Line {
  readonly text: string;
  /** Its place among all lines; give it as `after` to look only at what came later. */
  readonly index: number;
  readonly match: RegExpMatchArray;
}

export interface StartOptions {
  readonly cwd?: string;
  /** Added to the environment of the test; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly execArgv?: readonly string[];
  /** Runs this program instead of the Node that runs the test. */
  readonly execPath?: string;
}

export interface Started {
  readonly pid: number;
  /** What it printed so far, standard output and standard error in the order in which they arrived. */
  readonly lines: readonly string[];
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The first line that matches, printed already or still to come. Fails when the process ends without it. */
  readonly waitForLine: (pattern: RegExp, options?: { after?: number; timeoutMs?: number }) => Promise<Line>;
  readonly write: (text: string) => void;
  readonly endInput: () => void;
  /** Sends a signal to this one process, by its pid. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** kill -9; resolves when it is gone. */
  readonly killNow: () => Promise<Exit>;
  /** Asks it to end with SIGTERM; fails when it does not. */
  readonly stop: (timeoutMs?: number) => Promise<Exit>;
  /** Resolves once it has ended and all its output has been read. */
  readonly exited: Promise<Exit>;
}

export interface Owned extends AsyncDisposable {
  /** Runs a TypeScript or JavaScript file in a Node of its own. */
  readonly startNode: (file: string | URL, args?: readonly string[], options?: StartOptions) => Started;
  /** Runs `ringrift` with these arguments. */
  readonly startCli: (args: readonly string[], options?: StartOptions) => Started;
  /** A new empty folder. */
  readonly folder: () => string;
  readonly end: () => Promise<void>;
}

/** The environment of a program that a test starts: that of the test, without the traces of its runner. */
export const environment = (extra: StartOptions["env"]): NodeJS.ProcessEnv => {
  const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: "1", ...extra };
  // A child is a program of its own, not a part of the test runner.
  for (const name of Object.keys(env)) if (/^(VITEST|NODE_OPTIONS$|FORCE_COLOR$)/.test(name)) delete env[name];
  for (const [name, value] of Object.entries(extra ?? {})) if (value === undefined) delete env[name];
  return env;
};

const quietly = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ESRCH") throw thrown;
  }
};

/** Waits for `promise` no longer than `timeoutMs`; `late` makes the error that is thrown then. */
async function within<T>(timeoutMs: number, promise: Promise<T>, late: () => Error): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), timeoutMs);
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function listen(child: ChildProcess, name: string): Started {
  const { pid } = child;
  if (pid === undefined) throw new Error(`could not start ${name}`);
  const lines: string[] = [];
  const printed = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  let ended = false;

  const read = async (stream: "stdout" | "stderr"): Promise<void> => {
    for await (const line of createInterface({ input: child[stream]!, crlfDelay: Number.POSITIVE_INFINITY })) {
      lines.push(line);
      printed[stream] += `${line}\n`;
      for (const look of waiting) look();
    }
  };
  const exited = Promise.all([once(child, "exit"), read("stdout"), read("stderr")]).then(([[code, signal]]) => {
    ended = true;
    for (const look of waiting) look();
    return { code, signal } as Exit;
  });
  // Whoever closes its input early is no error of the test that was still writing.
  child.stdin!.on("error", () => {});

  const told = (what: string) =>
    new Error(`${name} (pid ${pid}) ${what}; its last lines:\n${lines.slice(-TAIL_LINES).join("\n") || "(none)"}`);

  const waitForLine: Started["waitForLine"] = async (pattern, { after = -1, timeoutMs = LINE_TIMEOUT_MS } = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Line>();
    let next = after + 1;
    const look = () => {
      for (; next < lines.length; next += 1) {
        const match = lines[next]!.match(pattern);
        if (match) return resolve({ text: lines[next]!, index: next, match });
      }
      if (ended) reject(told(`ended without a line that matches ${pattern}`));
    };
    waiting.add(look);
    look();
    try {
      return await within(timeoutMs, promise, () => told(`printed nothing that matches ${pattern} in ${timeoutMs} ms`));
    } finally {
      waiting.delete(look);
    }
  };

  const kill = (signal: NodeJS.Signals) => quietly(pid, signal);
  return {
    pid,
    lines,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    waitForLine,
    write: (text) => void child.stdin!.write(text),
    endInput: () => void child.stdin!.end(),
    kill,
    killNow: () => {
      kill("SIGKILL");
      return exited;
    },
    stop: (timeoutMs = STOP_TIMEOUT_MS) => {
      kill("SIGTERM");
      return within(timeoutMs, exited, () => told(`did not end on SIGTERM in ${timeoutMs} ms`));
    },
    exited,
  };
}

export function owned(atEnd?: (end: () => Promise<void>) => void): Owned {
  const children = new Map<number, Promise<Exit>>();
  const folders: string[] = [];

  // Each child leads a process group, so that what it started goes with it.
  const killAll = () => {
    for (const pid of children.keys()) quietly(-pid, "SIGKILL");
  };
  process.once("exit", killAll);

  const startNode: Owned["startNode"] = (file, args = [], options = {}) => {
    const path = typeof file === "string" ? file : fileURLToPath(file);
    const child = spawn(options.execPath ?? process.execPath, [...(options.execArgv ?? []), path, ...args], {
      ...defined({ cwd: options.cwd }),
      env: environment(options.env),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    child.once("error", () => {});
    const started = listen(child, [path, ...args].join(" "));
    children.set(started.pid, started.exited);
    return started;
  };

  const end = async (): Promise<void> => {
    killAll();
    await Promise.all(children.values());
    children.clear();
    process.removeListener("exit", killAll);
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  };
  atEnd?.(end);

  return {
    startNode,
    startCli: (args, options) => startNode(CLI, args, options),
    folder: () => {
      const folder = mkdtempSync(join(realpathSync(tmpdir()), "ringrift-test-"));
      folders.push(folder);
      return folder;
    },
    end,
    [Symbol.asyncDispose]: end,
  };
}

/** Ports below those that systems give away by themselves: whoever binds port 0 meanwhile gets none of these. */
const PORTS = { from: 12_000, count: 18_000 };

/** A port of loopback that nobody listens on now. Where the program can bind port 0 itself, prefer that. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    const server = createServer();
    const listening = once(server, "listening").then(
      () => true,
      () => false,
    );
    server.listen(port, "127.0.0.1");
    if (!(await listening)) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

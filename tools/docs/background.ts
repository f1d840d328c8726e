import { spawn } from "node:child_process";
import { once } from "node:events";
import { killGroup } from "../parts/run-command.ts";

export interface Background {
  /** Resolves once it has printed `ready`; says what is wrong otherwise. */
  readonly ready: Promise<string | undefined>;
  /** Ends it with all that it started; says what is wrong with how it ended. */
  readonly end: () => Promise<string | undefined>;
  readonly output: () => string;
}

const READY = /\bready\b/i;

/** A command that goes on while others run. */
export function startBackground(
  file: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; readyMs: number; endMs: number },
): Background {
  const { cwd, env, readyMs, endMs } = options;
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const exited = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const { promise: ready, resolve } = Promise.withResolvers<string | undefined>();
  let output = "";
  let stopped = false;
  const hear = (chunk: Buffer) => {
    output = (output + chunk.toString("utf8")).slice(-100_000);
    if (READY.test(output)) resolve(undefined);
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const late = setTimeout(() => resolve(`it did not print 'ready' within ${readyMs / 1_000} s`), readyMs);
  const ended = exited.then(
    ([code, signal]) => {
      resolve("it ended before it was ready");
      // A later block may have ended it in order; one that never got ready has been told above.
      return stopped || code === 0 ? undefined : `it ended by itself (${signal ?? `exit code ${code}`})`;
    },
    (thrown) => {
      resolve(`it could not be started: ${String(thrown)}`);
      return undefined;
    },
  );
  void ready.then(() => clearTimeout(late));
  return {
    ready,
    output: () => output,
    end: async () => {
      // One that is gone already was not stopped by us.
      stopped = child.exitCode === null && child.signalCode === null;
      let killed = false;
      killGroup(child, "SIGTERM");
      const timer = setTimeout(() => {
        killed = true;
        killGroup(child, "SIGKILL");
      }, endMs);
      const problem = await ended;
      clearTimeout(timer);
      killGroup(child, "SIGKILL");
      return killed ? `it did not end within ${endMs / 1_000} s of SIGTERM` : problem;
    },
  };
}

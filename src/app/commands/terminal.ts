import type { Clock } from "../../kernel/index.ts";
import type { CliIo } from "../../surfaces/commands/index.ts";

export interface Terminal {
  readonly io: CliIo;
  /** Lets the process end. Signals that come later still do no harm. */
  release(): void;
  /** Whether somebody was too impatient for an end in order. */
  readonly forced: boolean;
}

const PARENT_EVERY_MS = 1_000;
/** The exit code of a process that was ended by Ctrl-C, as shells count it. */
const INTERRUPTED = 130;
/** Under npm one Ctrl-C arrives twice, from the terminal and from npm: only a later signal is a second one. */
const SECOND_AFTER_MS = 1_000;

/** The terminal of this process. Signals, a reader that went away and a dead npm all abort the one signal. */
export function openTerminal(process: NodeJS.Process, clock: Clock): Terminal {
  const { stdout, stderr, env } = process;
  const ending = new AbortController();
  let askedAt: number | undefined;
  let forced = false;
  let force: (() => void) | undefined;
  const stop = () => {
    askedAt ??= clock.monotonic();
    if (clock.monotonic() - askedAt <= SECOND_AFTER_MS) return ending.abort();
    // Whoever asks twice does not want to wait for an end in order; whoever asks thrice, for no end at all.
    if (force === undefined || forced) return process.exit(INTERRUPTED);
    forced = true;
    askedAt = clock.monotonic();
    force();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);

  let gone = false;
  const lose = (error: NodeJS.ErrnoException) => {
    // `ringrift events list | head`: nobody reads on, and that is no error.
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    gone = true;
    ending.abort();
  };
  stdout.on("error", lose);
  stderr.on("error", lose);

  // npm and npx do not pass on how they end; a program that outlives them would run for ever.
  const parent = process.ppid;
  const underNpm = (env.npm_execpath ?? env.npm_lifecycle_event) !== undefined;
  const watch = setInterval(() => {
    if (underNpm && process.ppid !== parent) ending.abort();
  }, PARENT_EVERY_MS);

  const writeTo = (stream: NodeJS.WriteStream) => (text: string) => {
    if (!gone) stream.write(text);
  };
  return {
    io: {
      out: writeTo(stdout),
      err: writeTo(stderr),
      env,
      cwd: process.cwd(),
      // Few commands read it, and it takes longer to open than most of them to run.
      get stdin() {
        return process.stdin;
      },
      isTerminal: stdout.isTTY === true,
      get columns() {
        return stdout.columns ?? 100;
      },
      get rows() {
        return stdout.rows ?? 24;
      },
      errIsTerminal: stderr.isTTY === true,
      signal: ending.signal,
      onForce(run) {
        force = run;
        return () => {
          force = undefined;
        };
      },
    },
    get forced() {
      return forced;
    },
    release: () => clearInterval(watch),
  };
}

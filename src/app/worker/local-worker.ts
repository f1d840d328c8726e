/** The worker beside a main process: a child that is started again when it ends by itself, and ended before its main. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { backoffMs, type Edges, type Environment, messageOf, moduleBeside, type Timer } from "../../kernel/index.ts";

export interface LocalWorkerOptions extends Edges {
  readonly slots: number;
  readonly dataDir: string;
  readonly configFile: string | undefined;
  /** The file that is started; the program of this process unless said. */
  readonly program?: string;
  readonly env: Environment;
}

const RESTART = { firstMs: 1_000, maxMs: 60_000, jitter: 0.3 };
/** One that has run for so long was no failed start. */
const SOUND_MS = 60_000;

export interface LocalWorker {
  /** As which node it works; undefined for the one of the main process beside it. */
  readonly nodeId?: string;
  /** Undefined while none runs. */
  readonly pid: number | undefined;
  /** Asks it to end and waits for it. Doing it twice is doing it once. */
  stop(): Promise<void>;
  /** Nobody waits any more; its guardian ends its children. */
  kill(): void;
}

export function startLocalWorker(options: LocalWorkerOptions): LocalWorker {
  const { slots, dataDir, configFile, env, clock, random, log } = options;
  const program = options.program ?? fileURLToPath(moduleBeside(import.meta.url, "../cli"));
  let child: ChildProcess | undefined;
  let failures = 0;
  let stopping = false;
  let again: Timer | undefined;
  let ended = Promise.resolve();

  const start = (): void => {
    const startedMs = clock.monotonic();
    const flags = ["--data-dir", dataDir, ...(configFile === undefined ? [] : ["--config", configFile])];
    const args = [program, ...flags, "worker", "--slots", String(slots), "--under", String(process.pid)];
    // A session of its own: a Ctrl-C at the terminal is for the main process, which tells it.
    const started = spawn(process.execPath, args, { stdio: ["pipe", "ignore", "ignore"], env, detached: true });
    child = started;
    const gone = Promise.withResolvers<void>();
    ended = gone.promise;
    started.stdin.on("error", () => {});
    const over = (how: string) => {
      child = undefined;
      gone.resolve();
      if (stopping) return;
      failures = clock.monotonic() - startedMs > SOUND_MS ? 1 : failures + 1;
      const delayMs = backoffMs(RESTART, failures, random);
      log.warn("the local worker ended; it is started again", { how, after_ms: delayMs });
      again = clock.after(delayMs, start);
    };
    started.once("error", (cause) => over(messageOf(cause)));
    started.once("exit", (code, signal) => over(signal ?? `exit code ${code}`));
    log.info("the local worker starts", { pid: started.pid, slots });
  };
  start();

  return {
    get pid(): number | undefined {
      return child?.pid;
    },
    async stop(): Promise<void> {
      stopping = true;
      again?.cancel();
      child?.kill("SIGTERM");
      await ended;
    },
    kill(): void {
      stopping = true;
      child?.kill("SIGKILL");
    },
  };
}

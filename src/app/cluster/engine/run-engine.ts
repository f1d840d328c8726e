/** Runs the nats-server of this machine: starts it, starts it again when it ends, and ends it when told to. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Clock,
  isOperatingError,
  type Log,
  makeFolders,
  messageOf,
  OperatingError,
  sleep,
} from "../../../kernel/index.ts";
import { guardDataDir } from "../../data-folder/folder-lock.ts";
import { findHolder, isGone } from "../../data-folder/own-process.ts";
import { writeWhole } from "../../data-folder/token.ts";
import { type Engine, engineConfig, engineFolder, needEngine } from "./engine-file.ts";
import { findEngine } from "./find-engine.ts";

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
/** One that ran for so long is started again at once. */
const STEADY_MS = 60_000;
const KILL_AFTER_MS = 20_000;
const LOOK_MS = 100;

export interface RunningEngine {
  stop(): Promise<void>;
}

/** One process looks after the server of a folder. The system gives the lock back, also after kill -9. */
function guardEngine(folder: string): { release(): void } {
  try {
    return guardDataDir(folder);
  } catch (thrown) {
    if (!isOperatingError(thrown, "ALREADY_RUNNING")) throw thrown;
    const pid = findHolder(folder);
    throw OperatingError.conflict(
      "ENGINE_RUNS",
      `the nats-server of ${folder} is run already${pid === undefined ? "" : ` by process ${pid}`}`,
      {
        cause: thrown,
        hint: "One process for each machine is enough: 'ringrift cluster engine run' or 'ringrift up'.",
      },
    );
  }
}

/** A server that somebody left behind who was killed: whatever runs with our settings, where the system shows it. */
function findOrphan(config: string): number | undefined {
  if (process.platform !== "linux") return undefined;
  const isOurs = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(config) && !isGone(Number(pid));
    } catch {
      // It ended between the two looks.
      return false;
    }
  };
  const found = readdirSync("/proc").find((name) => /^\d+$/.test(name) && isOurs(name));
  return found === undefined ? undefined : Number(found);
}

/** Nobody would start it again if it ended: another one takes its place. */
async function endOrphan(pid: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const begun = clock.monotonic();
  while (!signal.aborted && !isGone(pid)) {
    try {
      process.kill(pid, clock.monotonic() - begun > KILL_AFTER_MS ? "SIGKILL" : "SIGTERM");
    } catch {
      // It ended between the two looks.
    }
    await sleep(clock, LOOK_MS, signal).catch(() => {});
  }
}

function writeConfig(engine: Engine, folder: string): string {
  makeFolders(join(folder, "store"));
  for (const [name, text] of Object.entries({ "ca.pem": engine.ca, "cert.pem": engine.cert, "key.pem": engine.key }))
    writeWhole(join(folder, name), text);
  const place = join(folder, "nats-server.conf");
  writeWhole(place, engineConfig(engine, folder));
  return place;
}

async function end(child: ChildProcess, clock: Clock): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const waiting = new AbortController();
  void sleep(clock, KILL_AFTER_MS, waiting.signal).then(
    () => child.kill("SIGKILL"),
    () => {},
  );
  await exited;
  waiting.abort();
}

export interface EngineOptions {
  readonly dataDir: string;
  readonly program: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function runEngine({ dataDir, program, clock, log }: EngineOptions): RunningEngine {
  const engine = needEngine(dataDir);
  findEngine(program);
  const folder = engineFolder(dataDir);
  const guard = guardEngine(folder);
  const config = writeConfig(engine, folder);
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  const running = (async () => {
    const orphan = findOrphan(config);
    if (orphan !== undefined) {
      log.warn("a nats-server that was left behind is started anew", { pid: orphan });
      await endOrphan(orphan, clock, stopping.signal);
    }
    for (let waitMs = FIRST_WAIT_MS; !stopping.signal.aborted; ) {
      const begun = clock.monotonic();
      const one = spawn(program, ["-c", config], { stdio: ["ignore", "ignore", "pipe"] });
      child = one;
      let said = "";
      one.stderr?.on("data", (piece: Buffer) => {
        said = `${said}${piece}`.slice(-2_000);
      });
      const code = await new Promise<string>((resolve) => {
        one.once("error", (thrown) => resolve(messageOf(thrown)));
        one.once("exit", (status, signal) => resolve(String(signal ?? status)));
      });
      if (stopping.signal.aborted) return;
      if (clock.monotonic() - begun > STEADY_MS) waitMs = FIRST_WAIT_MS;
      log.warn("the nats-server of this machine ended; it is started again", { code, said: said.trim().slice(-500) });
      await sleep(clock, waitMs, stopping.signal).catch(() => {});
      waitMs = Math.min(MAX_WAIT_MS, waitMs * 2);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      if (child !== undefined) await end(child, clock);
      await running;
      guard.release();
    },
  };
}

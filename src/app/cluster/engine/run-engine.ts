/** Runs the nats-server of this machine: starts it, starts it again when it ends, and ends it when told to. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { type Clock, type Log, makeFolders, messageOf, sleep } from "../../../kernel/index.ts";
import { writeWhole } from "../../token.ts";
import { type Engine, engineConfig, engineFolder, needEngine } from "./engine-file.ts";
import { findEngine } from "./find-engine.ts";

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
/** One that ran for so long is started again at once. */
const STEADY_MS = 60_000;
const KILL_AFTER_MS = 20_000;
const PROBE_MS = 1_000;

export interface RunningEngine {
  stop(): Promise<void>;
}

/** Whether a server of this machine runs already, as a service of its own. */
export function isEngineUp({ peers, name }: Engine): Promise<boolean> {
  const { host, client } = peers.find((one) => one.name === name)!;
  return new Promise((resolve) => {
    const socket = connect({ host, port: client, timeout: PROBE_MS });
    const end = (isUp: boolean) => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
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
  const config = writeConfig(engine, engineFolder(dataDir));
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  const running = (async () => {
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
    },
  };
}

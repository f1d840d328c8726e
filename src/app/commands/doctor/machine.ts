/** Node, clock, memory, limits and port: what the machine gives. */
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { freemem, totalmem } from "node:os";
import { sleep } from "../../../kernel/index.ts";
import { bytes, duration, number } from "../../../surfaces/commands/index.ts";
import { listeningWords } from "../../../surfaces/index.ts";
import { type Check, fail, graded, ok, warn } from "./finding.ts";

const NEEDED_NODE = 24;
const CLOCK_SPAN_MS = 200;
const MAX_DRIFT_MS = 20;
const LEAST_MEMORY = { fail: 128e6, warn: 512e6 };
const LEAST_FILES = { fail: 256, warn: 4_096 };

export const checkNode: Check = () => {
  const { node, sqlite = "none" } = process.versions;
  if (Number.parseInt(node, 10) < NEEDED_NODE)
    return fail("node", `Node ${node}`, `Node ${NEEDED_NODE} or newer is needed: from npm, nodejs.org or nvm.`);
  return ok("node", `Node ${node}, SQLite ${sqlite}`);
};

/** Over a short span both clocks must agree: one that is being set, or a machine that is being frozen, shows. */
export const checkClock: Check = async ({ clock }) => {
  const [wall, steady] = [clock.now(), clock.monotonic()];
  await sleep(clock, CLOCK_SPAN_MS);
  const driftMs = Math.abs(clock.now() - wall - (clock.monotonic() - steady));
  const text = `wall clock and monotonic clock agree within ${duration(Math.ceil(driftMs))}`;
  if (driftMs <= MAX_DRIFT_MS) return ok("clock", text);
  return warn(
    "clock",
    `wall clock and monotonic clock came ${duration(driftMs)} apart in ${duration(CLOCK_SPAN_MS)}`,
    "Something sets the clock: let NTP slew it slowly.",
  );
};

/** What the kernel says can be had without swapping; on other systems what is free. */
function availableMemory(): number {
  try {
    const found = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync("/proc/meminfo", "utf8"));
    if (found !== null) return Number(found[1]) * 1_024;
  } catch {
    // No Linux: the next best number.
  }
  return freemem();
}

export const checkMemory: Check = () => {
  const limit = process.constrainedMemory();
  const total = limit > 0 && limit < totalmem() ? limit : totalmem();
  const available = Math.min(availableMemory(), process.availableMemory());
  const text = `${bytes(available)} available of ${bytes(total)}`;
  const hint = "The kernel kills processes when there is none left: stop others, or add memory.";
  return graded("memory", available, LEAST_MEMORY, text, hint);
};

export const checkLimits: Check = () => {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    return [];
  }
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  const files = soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft ?? Number.NaN);
  if (Number.isNaN(files)) return [];
  const text = files === Number.POSITIVE_INFINITY ? "no limit on open files" : `${number(files)} files may be open`;
  const hint = "'ulimit -n 65536', or LimitNOFILE= of the systemd unit: every connection is an open file.";
  return graded("limits", files, LEAST_FILES, text, hint);
};

const listenError = (host: string, port: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });

export const checkPort: Check = async ({ host, port, secure, running }) => {
  if (running !== undefined) {
    const words = listeningWords({ host: running.host ?? host, port: running.port, secure: running.secure ?? secure });
    return ok("port", `${words}, by process ${running.pid}`);
  }
  if (port === 0) return ok("port", `a free one will be chosen: ${listeningWords({ host, port, secure })}`);
  const error = await listenError(host, port);
  if (error === undefined) return ok("port", `${listeningWords({ host, port, secure })}; it is free`);
  if (error === "EADDRNOTAVAIL")
    return fail(
      "port",
      `${host} is not an address of this machine`,
      "Set RINGRIFT_HOST to one of its own, or to 0.0.0.0.",
    );
  if (error === "EADDRINUSE")
    return fail(
      "port",
      `${port} is used by another program`,
      "Set RINGRIFT_PORT to another (0 picks a free one), or stop it.",
    );
  return fail("port", `${port} cannot be used: ${error}`, "Set RINGRIFT_PORT to another one.");
};

/** A worker in the foreground: from its first word to its last, with everybody who may tell it to stop. */

import { dirname, join } from "node:path";
import { CommanderError } from "commander";
import {
  aborted,
  createLog,
  defined,
  isOperatingError,
  logPathOf,
  messageOf,
  openLogFile,
  sleep,
} from "../../kernel/index.ts";
import { logLine, type Shell } from "../../surfaces/commands/index.ts";
import { findEndpoint } from "../../surfaces/index.ts";
import type { Settings } from "../settings.ts";
import { readVersion } from "../version.ts";
import { beNice } from "./be-nice.ts";
import { joinedNode } from "./node-identity.ts";
import { watchParent } from "./parent.ts";
import { type RunningWorker, runWorker, type WorkerWorld } from "./run-worker.ts";
import { isDiskFull, waitForRoom } from "./wait-for-room.ts";

export interface WorkOptions {
  /** The process that started this one and must not be outlived. */
  readonly under?: number;
}

const LOOK_EVERY_MS = 500;
/** Without its main process nobody takes anything back: what runs has this long. */
const ORPHAN_GRACE_MS = 2_000;
const INTERRUPTED = 130;

/** A main process on this machine may come later than its worker. */
async function waitForMain({ settings, clock, log }: WorkerWorld, signal: AbortSignal): Promise<boolean> {
  const { dataDir } = settings;
  const isThere = () => joinedNode(dataDir) !== undefined || findEndpoint(dataDir) !== undefined;
  if (isThere()) return true;
  log.info("waiting for the main process", { data_dir: dataDir });
  while (!signal.aborted) {
    await sleep(clock, LOOK_EVERY_MS, signal).catch(() => undefined);
    if (isThere()) return true;
  }
  return false;
}

/** A node without room on its disk waits for some, and says so; undefined if it is told to stop meanwhile. */
async function runWithRoom(world: WorkerWorld, signal: AbortSignal, shell: Shell): Promise<RunningWorker | undefined> {
  while (!signal.aborted)
    try {
      return await runWorker(world);
    } catch (thrown) {
      if (!isDiskFull(thrown) || joinedNode(world.settings.dataDir) === undefined) throw thrown;
      world.log.error("the worker waits for room on its disk", { error: messageOf(thrown) });
      shell.note(`the disk is full: waiting for room in ${world.settings.dataDir}`);
      await waitForRoom(world, signal);
    }
  return undefined;
}

/** A node of its own has the folder's log for itself; beside a main process it has one of its own. */
const logPath = (dataDir: string): string =>
  joinedNode(dataDir) === undefined ? join(dirname(logPathOf(dataDir)), "worker.log") : logPathOf(dataDir);

export async function serveWorker(
  settings: Settings,
  shell: Shell,
  random: WorkerWorld["random"],
  options: WorkOptions,
) {
  const { io, clock } = shell;
  const file = openLogFile({ path: logPath(settings.dataDir), ...settings.logFile });
  const stream =
    io.errIsTerminal === true
      ? { write: (json: string) => io.err(`${logLine(json, shell.paint, shell.width)}\n`) }
      : undefined;
  const log = createLog(settings.logLevel, { file, ...defined({ stream }) });
  for (const notice of settings.notices) log.warn(notice);
  beNice(settings.worker.nice, log);
  const world: WorkerWorld = { settings, clock, random, log, env: io.env, version: readVersion(), tidyLogs: file.tidy };
  const stopping = new AbortController();
  let why = "told to stop";
  let orphaned = false;
  const askToStop = (reason: string) => {
    if (!stopping.signal.aborted) why = reason;
    stopping.abort();
  };
  io.signal.addEventListener("abort", () => askToStop("told to stop by a signal"), { once: true });
  if (io.signal.aborted) askToStop("told to stop by a signal");
  const parent = watchParent(options.under, io.stdin, clock, (reason) => {
    orphaned = true;
    askToStop(reason);
  });
  let running: RunningWorker | undefined;
  let broken: unknown;
  let forced = false;
  try {
    if (!(await waitForMain(world, stopping.signal))) return;
    for (;;) {
      running = await runWithRoom(world, stopping.signal, shell);
      if (running === undefined) return;
      const { nodeId, main, kinds } = running;
      const { slots } = settings.worker;
      if (shell.json) shell.print({ status: "ready", pid: process.pid, node_id: nodeId, main, slots, kinds });
      else shell.say(`worker ready pid ${process.pid} node ${nodeId} slots ${slots} kinds ${kinds.join(",")}`);
      log.info("the worker is ready", { node_id: nodeId, main, slots, kinds });
      void running.broken?.then((error) => {
        broken = error;
        askToStop(messageOf(error));
      });
      const order = await Promise.race([aborted(stopping.signal), running.restart ?? new Promise<never>(() => {})]);
      if (order === undefined || stopping.signal.aborted) break;
      log.warn("the worker starts anew: the main process wants it", order);
      if (!shell.json) shell.say(`restarting: ${order.reason}`);
      await running.close({ comesBack: true });
    }
    const { worker } = running;
    log.info("the worker stops", { reason: why });
    if (!shell.json) shell.say(`stopping: ${why}`);
    const release = io.onForce?.(() => {
      forced = true;
      log.warn("the worker is forced to end");
      worker.force();
    });
    if (orphaned) clock.after(ORPHAN_GRACE_MS, () => worker.force());
    await running.close();
    release?.();
    const { counts, spool } = worker.status();
    log.info("the worker has ended", { ...counts, waiting: spool.waiting });
    if (shell.json) shell.print({ status: "stopped", reason: why, ...counts, waiting: spool.waiting });
    else shell.say(`stopped: ${counts.completed} completed, ${counts.failed} failed, ${counts.released} given back`);
  } catch (thrown) {
    log.error("the worker cannot continue", {
      error: messageOf(thrown),
      code: isOperatingError(thrown) ? thrown.code : undefined,
    });
    throw thrown;
  } finally {
    parent.stop();
    await running?.close();
    file.close();
  }
  if (broken !== undefined) throw broken;
  if (forced) throw new CommanderError(INTERRUPTED, "ringrift.forced", "");
}

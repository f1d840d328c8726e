import { availableParallelism } from "node:os";
import { type Command, CommanderError } from "commander";
import { PROFILES } from "../../daemons/index.ts";
import type { Rows } from "../../events/index.ts";
import { defined, sleep, systemRandom } from "../../kernel/index.ts";
import { answer, EXIT, oneOf, printable, type Shell, shorten, wholeNumber } from "../../surfaces/commands/index.ts";
import { bootstrapCoordination, type Coordination } from "../bootstrap.ts";
import type { BootstrapOptions } from "../bootstrap-options.ts";
import type { SettingOverrides, Settings } from "../settings.ts";
import { startTelemetry } from "../telemetry/telemetry.ts";
import { readVersion } from "../version.ts";
import { type LocalWorker, startLocalWorker } from "../worker/local-worker.ts";
import { type LiveRegion, liveRegion } from "./up/live-region.ts";
import { logStreamFor } from "./up/log-stream.ts";
import { measureLoopDelay } from "./up/loop-delay.ts";
import type { MainGuest, Start } from "./up/main-guest.ts";
import { createSampler } from "./up/sampler.ts";
import { createNotifier, type Notifier } from "./up/sd-notify.ts";
import { liveLines, plainLine, type Sample, type Summary, summaryLine, waitedFor, waitingLine } from "./up/up-view.ts";

const LOCAL_WORKERS = "workers.local";
const LOOK_EVERY_MS = 1_000;
const TELL_SYSTEMD_EVERY_MS = 10_000;
const STOP_LOOK_EVERY_MS = 100;
/** In a pipe, what is waited for is said when it is new, and again after so long. */
const SAY_WAITING_EVERY_MS = 5_000;
/** After a forced end has had so long, nobody waits any more. */
const FORCED_LIMIT_MS = 10_000;
/** The exit code of a process that was ended by Ctrl-C, as shells count it. */
const INTERRUPTED = 130;

interface UpOptions {
  readonly profile?: string;
  readonly port?: number;
  readonly headless?: boolean;
  readonly workers?: number;
}

type Main = Coordination<Rows>;

/** Everything that happens while it runs: the live line, and what systemd is told. */
async function runUntil(
  asked: AbortSignal,
  main: Main,
  shell: Shell,
  sample: () => Sample,
  region: LiveRegion | undefined,
  notifier: Notifier,
  guest: MainGuest,
): Promise<void> {
  const { clock } = shell;
  const { port } = main.api;
  const place = { pid: process.pid, port, dataDir: main.settings.dataDir };
  let notifiedAt = clock.monotonic();
  while (!asked.aborted) {
    // Cut short by the signal, the wait ends the loop by itself.
    await sleep(clock, LOOK_EVERY_MS, asked).catch(() => undefined);
    if (asked.aborted) return;
    const seen = sample();
    region?.draw(guest.lines?.(main, seen) ?? liveLines(seen, place, shell));
    if (guest.look?.(main, seen) === true) return;
    if (clock.monotonic() - notifiedAt < TELL_SYSTEMD_EVERY_MS) continue;
    notifiedAt = clock.monotonic();
    notifier.status(plainLine(seen));
  }
}

/** Ends it in order and says what that waits for. A second signal forces it. */
async function stop(
  main: Main,
  worker: LocalWorker | undefined,
  shell: Shell,
  region: LiveRegion | undefined,
  notifier: Notifier,
): Promise<Summary> {
  const { io, clock, paint } = shell;
  const { router, daemons } = main;
  const began = clock.monotonic();
  const restarts = Object.values(daemons.getStatus()).reduce((sum, info) => sum + info.restarts, 0);
  const { total_events: events, handler_failures } = router.getStats();
  const { pending, retrying } = router.deadLetters.counts();
  let forced = false;
  let said = "";
  let saidAt = Number.NEGATIVE_INFINITY;
  const force = Promise.withResolvers<void>();
  const release = io.onForce?.(() => {
    forced = true;
    worker?.kill();
    void daemons.shutdown({ force: true });
    clock.after(FORCED_LIMIT_MS, () => force.resolve());
  });
  let ended = false;
  // What it gives back must be taken by somebody: it goes first.
  let isWorking = worker !== undefined;
  const end = async () => {
    await worker?.stop();
    isWorking = false;
    await main.shutdown();
  };
  const ending = end().finally(() => {
    ended = true;
  });
  notifier.stopping("stopping");
  const again = io.onForce === undefined ? "" : "  Ctrl-C again forces it";
  const report = () => {
    const names = [...(isWorking ? ["local worker"] : []), ...waitedFor(daemons.getStatus())];
    const line = waitingLine(names, clock.monotonic() - began);
    const isNews = names.join() !== said || clock.monotonic() - saidAt >= SAY_WAITING_EVERY_MS;
    const hint = forced ? "  by force" : again;
    if (region !== undefined) region.draw([`${shorten(line, shell.width - hint.length - 1)}${paint.dim(hint)}`]);
    else if (isNews && !shell.json) shell.say(line);
    if (!isNews) return;
    said = names.join();
    saidAt = clock.monotonic();
    notifier.status(line);
  };
  const watching = (async () => {
    while (!ended) {
      report();
      await sleep(clock, STOP_LOOK_EVERY_MS);
    }
  })();
  await Promise.race([ending, force.promise]);
  ended = true;
  await watching;
  release?.();
  region?.clear();
  const hung = forced ? waitedFor(daemons.getStatus()) : (await daemons.shutdown()).hung;
  return {
    status: "stopped",
    uptime_seconds: Math.round(main.uptimeMs()) / 1_000,
    events,
    handler_failures,
    dead_letters: pending + retrying,
    restarts,
    hung,
    forced,
  };
}

/** Whoever starts it sees by the exit code how it ended. */
function judge({ forced, hung }: Summary): void {
  if (forced) throw new CommanderError(INTERRUPTED, "ringrift.forced", "");
  if (hung.length > 0) throw new CommanderError(EXIT.failed, "ringrift.hung", "");
}

/** Runs the main process, a worker beside it, and whoever comes along, until somebody ends it. */
export async function runMain(
  options: Pick<UpOptions, "headless"> & { readonly isStory?: boolean },
  settings: Settings,
  shell: Shell,
  start: Start,
  guest: MainGuest = {},
): Promise<void> {
  if (settings.p2p.raftEnabled) {
    // Nothing of it is loaded where one coordinator works by itself.
    const { runMember } = await import("./up/run-member.ts");
    return runMember(options, settings, shell, start, guest);
  }
  const { io, clock } = shell;
  const isLive = io.isTerminal && !shell.json && options.headless !== true;
  const region = isLive ? liveRegion(io) : undefined;
  region?.draw([shell.paint.dim(`starting on ${settings.dataDir} ...`)]);
  const logStream = logStreamFor(shell, region, options.isStory === true);
  let main: Main;
  try {
    const telemetry: BootstrapOptions["telemetry"] = (to) => startTelemetry(io.env, readVersion(), to);
    main = await start({ settings, clock, telemetry, ...defined({ logStream }) });
  } finally {
    region?.clear();
  }
  const loop = measureLoopDelay();
  const { log } = main;
  const notifier = createNotifier({
    env: io.env,
    pid: process.pid,
    ppid: process.ppid,
    clock,
    log,
    isAlive: () => main.daemons.livenessProbe(),
  });
  let summary: Summary | undefined;
  let worker: LocalWorker | undefined;
  try {
    const { api } = main;
    if (settings.localWorkers > 0)
      worker = startLocalWorker({
        slots: settings.localWorkers,
        dataDir: settings.dataDir,
        configFile: settings.configFile,
        env: io.env,
        clock,
        random: systemRandom(),
        log,
      });
    const about = { pid: process.pid, port: api.port, socket_path: api.socketPath, data_dir: settings.dataDir };
    const ready = `ready pid ${about.pid} port ${about.port} socket ${about.socket_path}`;
    answer(shell, { status: "ready", ...about }, () => shorten(ready, shell.width));
    const sample = createSampler(main, clock, loop);
    notifier.ready(plainLine(sample()));
    const halted = new AbortController();
    let broken: unknown;
    void main.broken.then((error) => {
      broken = error;
      halted.abort();
    });
    void main.stopRequested.then(({ actor }) => {
      if (!shell.json) shell.say(`told to stop by ${printable(actor)}`);
      halted.abort();
    });
    await guest.arrived?.(main, worker);
    await runUntil(AbortSignal.any([io.signal, halted.signal]), main, shell, sample, region, notifier, guest);
    region?.clear();
    await guest.leaving?.(main);
    summary = await stop(main, worker, shell, region, notifier);
    const ended = summary;
    answer(shell, ended, () => summaryLine(ended));
    // Whoever supervises this process starts it again.
    if (broken !== undefined) throw broken;
    judge(summary);
    guest.left?.();
  } finally {
    region?.clear();
    loop.stop();
    // After a failure on the way; otherwise it has been done, or was forced and has had all the time that it gets.
    if (summary?.forced !== true) {
      await worker?.stop();
      await main.shutdown();
    }
    await notifier.close();
  }
}

/** What `ringrift up` asks where it trains configs. */
export interface PipelinePorts {
  /** Whether somebody set a setting, by its key. */
  isSet(key: string): boolean;
  /** Who shows the loop and leaves its report. */
  guestFor(settings: Settings, isHeadless: boolean): Promise<MainGuest>;
}

/** `ringrift up`: the main process, in the foreground, until it is told to stop. */
export function registerUp(
  command: Command,
  shell: Shell,
  readSettings: (given: SettingOverrides) => Settings,
  pipeline: PipelinePorts,
  start: Start = bootstrapCoordination,
): void {
  command
    .option(
      "--profile <name>",
      `which units run here: ${PROFILES.join(", ")}; default: RINGRIFT_PROFILE`,
      oneOf("--profile", PROFILES),
    )
    .option("--port <n>", "port of the API; 0 picks a free one", wholeNumber("--port", 0, 65_535))
    .option(
      "--workers <n>",
      "also start a worker that does this many jobs at once; default: RINGRIFT_LOCAL_WORKERS. If that is not set: one job per processor if configs are trained (RINGRIFT_LOOP_CONFIGS), otherwise no worker",
      wholeNumber("--workers", 0, 1_024),
    )
    .option("--headless", "no live status line: print only log lines")
    .action(async (options: UpOptions) => {
      const given = { port: options.port, profile: options.profile };
      const plain = readSettings({ ...given, localWorkers: options.workers });
      if (plain.loop.configs.length === 0) return runMain(options, plain, shell, start);
      // Whoever names what to train wants it trained: a worker starts beside it unless told otherwise.
      const workers = options.workers ?? (pipeline.isSet(LOCAL_WORKERS) ? plain.localWorkers : availableParallelism());
      const settings = readSettings({ ...given, localWorkers: workers });
      const guest = await pipeline.guestFor(settings, options.headless === true);
      await runMain(options, settings, shell, start, guest);
    });
}

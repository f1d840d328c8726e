/** `ringrift up` and `train` of a coordinator that is one of several: it stands by until it leads, and stands by again after that. */
import type { Rows } from "../../../events/index.ts";
import { createLog, defined, isOperatingError, messageOf, sleep, systemRandom } from "../../../kernel/index.ts";
import { answer, printable, type Shell, shorten } from "../../../surfaces/commands/index.ts";
import type { Coordination } from "../../bootstrap.ts";
import { type Coordinator, startCoordinator } from "../../cluster/coordinator.ts";
import { readEngine } from "../../cluster/engine/engine-file.ts";
import { type RunningEngine, runEngine } from "../../cluster/engine/run-engine.ts";
import { startMemberWorker } from "../../cluster/member-worker.ts";
import type { Settings } from "../../settings.ts";
import { startTelemetry } from "../../telemetry/telemetry.ts";
import { readVersion } from "../../version.ts";
import type { LocalWorker } from "../../worker/local-worker.ts";
import { liveRegion } from "./live-region.ts";
import { logStreamFor } from "./log-stream.ts";
import { measureLoopDelay } from "./loop-delay.ts";
import type { MainGuest, Start } from "./main-guest.ts";
import { createSampler } from "./sampler.ts";
import { createNotifier } from "./sd-notify.ts";
import { liveLines, plainLine, type Sample } from "./up-view.ts";

const LOOK_EVERY_MS = 1_000;
const TELL_SYSTEMD_EVERY_MS = 10_000;

type Main = Coordination<Rows>;

/** What belongs to the term that is led here. */
interface Led {
  readonly main: Main;
  readonly sample: () => Sample;
}

/** Where it stands, for the live line and for systemd. */
function standbyLine(coordinator: Coordinator): string {
  const { name, term, seq, leader, trouble } = coordinator.view();
  const who = leader === null ? "nobody leads" : `${leader.name} leads at ${leader.url}`;
  return `${name} stands by: ${who}, term ${term}, entry ${seq}${trouble === null ? "" : ` (${trouble})`}`;
}

/** The nats-server of this machine, unless a service of its own runs it already, or others are named. */
function startOwnEngine({ dataDir, coordinators }: Settings, { clock }: Shell): RunningEngine | undefined {
  if (coordinators.servers.length > 0 || readEngine(dataDir) === undefined) return undefined;
  try {
    return runEngine({ dataDir, program: coordinators.engine, clock, log: createLog("WARN", {}) });
  } catch (thrown) {
    if (isOperatingError(thrown, "ENGINE_RUNS")) return undefined;
    throw thrown;
  }
}

export async function runMember(
  options: { readonly headless?: boolean; readonly isStory?: boolean },
  settings: Settings,
  shell: Shell,
  start: Start,
  guest: MainGuest,
): Promise<void> {
  const { io, clock } = shell;
  const isLive = io.isTerminal && !shell.json && options.headless !== true;
  const region = isLive ? liveRegion(io) : undefined;
  const logStream = logStreamFor(shell, region, options.isStory === true);
  const loop = measureLoopDelay();
  const halted = new AbortController();
  const ending = AbortSignal.any([io.signal, halted.signal]);
  let led: Led | undefined;
  /** Works for whoever leads, as long as this process runs. */
  let worker: LocalWorker | undefined;

  const begin = async (main: Main, term: number): Promise<() => Promise<void>> => {
    led = { main, sample: createSampler(main, clock, loop) };
    const { port, socketPath: socket_path } = main.api;
    const about = { pid: process.pid, port, socket_path, data_dir: settings.dataDir, term };
    answer(shell, { status: "leading", ...about }, () =>
      shorten(`leads term ${term} pid ${about.pid} port ${port} socket ${socket_path}`, shell.width),
    );
    await guest.arrived?.(main, worker);
    return async () => {
      led = undefined;
      region?.clear();
      // Who only hands over has nothing to report: the run goes on elsewhere.
      if (ending.aborted) await guest.leaving?.(main);
    };
  };

  const engine = startOwnEngine(settings, shell);
  const coordinator = await startCoordinator({
    ...{ settings, clock, ...defined({ logStream }) },
    onLead: begin,
    start: ({ settings: own, term }) =>
      start({
        ...{ settings: own, clock, term, ...defined({ logStream }) },
        telemetry: (to) => startTelemetry(io.env, readVersion(), to),
      }),
  }).catch(async (thrown: unknown) => {
    await engine?.stop();
    throw thrown;
  });
  const notifier = createNotifier({
    ...{ env: io.env, pid: process.pid, ppid: process.ppid, clock, log: coordinator.log },
    isAlive: () => led?.main.daemons.livenessProbe() ?? true,
  });
  let broken: unknown;
  try {
    const { port, socketPath: socket_path } = coordinator;
    const about = { pid: process.pid, port, socket_path, data_dir: settings.dataDir };
    answer(shell, { status: "standby", ...about }, () =>
      shorten(`standby pid ${about.pid} port ${port} socket ${socket_path}`, shell.width),
    );
    notifier.ready(standbyLine(coordinator));
    void coordinator.broken.then((error) => {
      broken = error;
      halted.abort();
    });
    void coordinator.stopRequested.then(({ actor }) => {
      if (!shell.json) shell.say(`told to stop by ${printable(actor)}`);
      halted.abort();
    });
    if (settings.localWorkers > 0)
      worker = startMemberWorker({
        ...{ settings, env: io.env, clock, random: systemRandom(), log: coordinator.log, view: coordinator.view },
      });
    let notifiedAt = clock.monotonic();
    while (!ending.aborted) {
      await sleep(clock, LOOK_EVERY_MS, ending).catch(() => undefined);
      if (ending.aborted) break;
      const now = led;
      const seen = now?.sample();
      const place = { pid: process.pid, port, dataDir: settings.dataDir };
      if (now === undefined || seen === undefined) region?.draw([shorten(standbyLine(coordinator), shell.width)]);
      else region?.draw(guest.lines?.(now.main, seen) ?? liveLines(seen, place, shell));
      const isOver = now === undefined || seen === undefined ? guest.wait?.() : guest.look?.(now.main, seen);
      if (isOver === true) halted.abort();
      if (clock.monotonic() - notifiedAt < TELL_SYSTEMD_EVERY_MS) continue;
      notifiedAt = clock.monotonic();
      notifier.status(seen === undefined ? standbyLine(coordinator) : plainLine(seen));
    }
    region?.clear();
    notifier.stopping("stopping");
    const release = io.onForce?.(() => worker?.kill());
    // What it gives back must be taken by somebody: it goes first.
    await worker?.stop();
    await coordinator.shutdown();
    release?.();
    answer(shell, { status: "stopped" }, () => "stopped");
    if (broken !== undefined) throw broken;
    guest.left?.();
  } finally {
    region?.clear();
    loop.stop();
    await worker?.stop();
    await coordinator
      .shutdown()
      .catch((thrown: unknown) => shell.note(`the process did not end in order: ${messageOf(thrown)}`));
    await notifier.close();
    await engine?.stop();
  }
}

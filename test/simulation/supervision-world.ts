/**
 * A seeded world around the shipped supervisor: ninety daemons with a random graph that throw, hang, flap, start slowly,
 * go deaf and lie about their health; an operator who stops, starts, pauses and resets; a process that dies and comes back
 * to its books. The world keeps books of its own from what it sees of the daemons, and compares. One seed is one history.
 */

import { type DaemonContext, type DaemonHealth, DaemonManager } from "../../src/daemons/index.ts";
import { daemonManagerDefaults } from "../../src/daemons/supervisor/config.ts";
import { type RestartPolicy, restartPolicy } from "../../src/daemons/supervisor/restart-policy.ts";
import { memorySupervisionStore } from "../../src/daemons/supervisor/supervision-store.ts";
import { type Clock, pick, type Random, seededRandom, silentLog, virtualClock } from "../../src/kernel/index.ts";

export interface SupervisionOptions {
  readonly seed: number;
  readonly faults: number;
  readonly daemons?: number;
  readonly policy?: RestartPolicy;
}

export interface SupervisionReport {
  readonly trace: readonly string[];
  /** Promises that did not hold. */
  readonly violations: readonly string[];
  readonly runs: number;
  readonly restarts: number;
  readonly gaveUp: number;
  readonly crashes: number;
  readonly virtualHours: number;
  /** Wanted daemons that did not run when the faults had stopped and all was reset. */
  readonly missing: readonly string[];
  /** What was left after shutdown. */
  readonly left: { readonly timers: number; readonly handles: number };
}

const FAULTS = ["throw", "flap", "slow_start", "late_start", "dead", "deaf", "health_throws", "health_hangs"] as const;
type Fault = (typeof FAULTS)[number] | "dependency_down";
const HOLDS = ["backpressure", "disk", "leader"] as const;
const config = daemonManagerDefaults;
const MINUTE = 60_000;
const DOWN: ReadonlySet<string> = new Set(["stopped", "failed", "import_failed", "restarting"]);

/** A daemon as the world sees it. */
interface Synthetic {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  readonly maxRestarts: number;
  /** What is to befall its next runs. */
  readonly armed: Fault[];
  live: number;
  ready: boolean;
  /** When it last became ready: until then it was not. */
  readySince: number;
  downAt: number;
  failedAt: number | null;
  /** It was given up or told to stop while it ran; however it ends, the next run is not its restart. */
  isDismissed: boolean;
  restarts: number[];
  health: "good" | "dead" | "throws" | "hangs";
  strike: ((fault: Fault) => void) | undefined;
  release: (() => void) | undefined;
}

const graphOf = (random: Random, count: number): Synthetic[] =>
  Array.from({ length: count }, (_, i) => ({
    name: `d${i}`,
    // Few roots, some long chains, some wide fans.
    dependsOn: [
      ...new Set(
        Array.from({ length: i < 3 || random.next() < 0.4 ? 0 : 1 + pick(random, 3) }, () => `d${pick(random, i)}`),
      ),
    ],
    critical: random.next() < 0.1,
    maxRestarts: 2 + pick(random, 5),
    armed: [],
    live: 0,
    ready: false,
    readySince: 0,
    downAt: 0,
    failedAt: null,
    isDismissed: false,
    restarts: [],
    health: "good",
    strike: undefined,
    release: undefined,
  }));

export async function superviseUnderFaults(options: SupervisionOptions): Promise<SupervisionReport> {
  const random = seededRandom(options.seed);
  const clock = virtualClock();
  const all = graphOf(random, options.daemons ?? 90);
  const byName = new Map(all.map((daemon) => [daemon.name, daemon]));
  const trace: string[] = [];
  const violations: string[] = [];
  const store = memorySupervisionStore(({ actions }) => {
    for (const { daemon, action, reason } of actions) {
      trace.push(`${clock.monotonic()} ${action} ${daemon}`);
      // What a crash leaves of the holds is what was written down.
      if (action === "held") onPaper.get(daemon)!.add(reason);
      if (action === "released") for (const hold of reason.split("; ")) onPaper.get(daemon)!.delete(hold);
      if (action !== "gave_up") continue;
      gaveUp += 1;
      byName.get(daemon)!.isDismissed = byName.get(daemon)!.live > 0;
    }
  });
  /** What holds each daemon: as it was said, and as it is written down. */
  let holds = new Map(all.map(({ name }) => [name, new Set<string>()]));
  const onPaper = new Map(all.map(({ name }) => [name, new Set<string>()]));
  /** Restarts of daemons that are not critical, all together. */
  const storm: number[] = [];
  let [runs, restarts, gaveUp, crashes, handles] = [0, 0, 0, 0, 0];
  let calm = false;
  let epoch = 0;
  let timersOpen = () => 0;
  const broken = (what: string) => void violations.push(`${clock.monotonic()} ${what}`);

  /** Compares what begins with what may. */
  const begins = (daemon: Synthetic) => {
    const now = clock.monotonic();
    runs += 1;
    if (daemon.live > 0) broken(`${daemon.name} runs twice`);
    // What falls in this very instant may not have been noticed yet.
    for (const on of daemon.dependsOn)
      if (!byName.get(on)!.ready && byName.get(on)!.downAt < now)
        broken(`${daemon.name} begins although ${on} is not ready`);
    if (holds.get(daemon.name)!.size > 0) broken(`${daemon.name} begins although it is held`);
    if (manager.isPermanentlyFailed(daemon.name)) broken(`${daemon.name} begins although it was given up`);
    const { failedAt } = daemon;
    daemon.failedAt = null;
    const isOwn = failedAt !== null && daemon.dependsOn.every((on) => byName.get(on)!.readySince < failedAt);
    if (!isOwn) return;
    restarts += 1;
    daemon.restarts = [...daemon.restarts.filter((at) => now - at < config.restartWindowMs), now];
    if (daemon.restarts.length > daemon.maxRestarts) broken(`${daemon.name} has spent more than its budget`);
    if (now - failedAt < config.recoveryCooldownMs) broken(`${daemon.name} was restarted within the cooldown`);
    if (daemon.critical) return;
    storm.push(now);
    while (now - storm[0]! >= MINUTE) storm.shift();
    if (storm.length > config.cascadeRestarts) broken(`${storm.length} restarts within a minute`);
  };

  /** What is told to end without having failed ends after all that stand on it, but for those that hung and were given up. */
  const endsInOrder = (daemon: Synthetic) => {
    for (const { name, dependsOn, live } of all)
      if (dependsOn.includes(daemon.name) && live > 0 && !DOWN.has(manager.getStatus()[name]!.state))
        broken(`${daemon.name} ends before ${name}, which stands on it`);
  };

  const factoryOf = (daemon: Synthetic, born: number) => async (context: DaemonContext) => {
    // What a dead process was about to do does not happen.
    if (born !== epoch) return new Promise<void>(() => {});
    const own: Clock = context.clock;
    const timers: { cancel(): void }[] = [];
    begins(daemon);
    daemon.live += 1;
    handles += 1;
    daemon.health = "good";
    const isMine = () => born === epoch;
    let failed = false;
    let deaf = false;
    const down = () => {
      if (!isMine()) return;
      daemon.ready = false;
      daemon.downAt = clock.monotonic();
    };
    try {
      await new Promise<void>((resolve, reject) => {
        const strike = (fault: Fault) => {
          if (fault === "dead") daemon.health = "dead";
          else if (fault === "health_throws") daemon.health = "throws";
          else if (fault === "health_hangs") daemon.health = "hangs";
          else if (fault === "deaf") {
            deaf = true;
            daemon.health = "dead";
          } else if (fault === "slow_start" || fault === "late_start") daemon.armed.push(fault);
          else if (!context.signal.aborted) {
            failed = true;
            reject(new Error(fault));
          }
        };
        daemon.strike = strike;
        const first = calm ? undefined : daemon.armed.shift();
        const readyMs = first === "late_start" ? 45_000 : first === "slow_start" ? 20_000 : pick(random, 300);
        timers.push(
          own.after(readyMs, () => {
            if (context.signal.aborted || !isMine()) return;
            daemon.readySince = clock.monotonic();
            daemon.ready = true;
            context.ready();
            if (first === "flap") timers.push(own.after(pick(random, 2_000), () => strike("throw")));
            else if (first !== undefined && first !== "late_start" && first !== "slow_start") strike(first);
          }),
        );
        context.signal.addEventListener(
          "abort",
          () => {
            const why = String(context.signal.reason?.message);
            // One that throws in the very instant in which it is told to end has ended because it was told to.
            failed = why.startsWith("not ready after") || why.startsWith("found dead");
            if (why.startsWith("stopped by") || HOLDS.some((hold) => why.includes(hold))) endsInOrder(daemon);
            down();
            if (deaf && !calm) daemon.release = resolve;
            else timers.push(own.after(pick(random, 200), resolve));
          },
          { once: true },
        );
      });
    } finally {
      for (const timer of timers) timer.cancel();
      if (isMine()) {
        down();
        daemon.strike = undefined;
        daemon.release = undefined;
        daemon.live -= 1;
        handles -= 1;
        daemon.failedAt = failed && !daemon.isDismissed ? clock.monotonic() : null;
        daemon.isDismissed = false;
      }
    }
  };

  const healthOf = (daemon: Synthetic) => (): DaemonHealth | Promise<DaemonHealth> => {
    if (daemon.health === "throws") throw new Error("health is broken");
    if (daemon.health === "hangs") return new Promise(() => {});
    return daemon.health === "dead" ? { status: "stopped", message: "dead" } : { status: "running", message: "" };
  };

  /** A process: what it set up dies with it, its books do not. */
  const boot = (): DaemonManager => {
    epoch += 1;
    const mine = epoch;
    const open = new Set<unknown>();
    timersOpen = () => open.size;
    const own: Clock = {
      now: clock.now,
      monotonic: clock.monotonic,
      after(delayMs, run) {
        const timer = clock.after(delayMs, () => {
          open.delete(timer);
          if (mine === epoch) run();
        });
        open.add(timer);
        return {
          cancel() {
            open.delete(timer);
            timer.cancel();
          },
        };
      },
    };
    handles = 0;
    holds = new Map([...onPaper].map(([name, reasons]) => [name, new Set(reasons)]));
    for (const daemon of all) {
      Object.assign(daemon, { live: 0, ready: false, failedAt: null, isDismissed: false, health: "good" });
      daemon.strike = undefined;
      daemon.release = undefined;
      daemon.readySince = clock.monotonic();
    }
    const next = new DaemonManager({
      clock: own,
      random,
      log: silentLog(),
      nodeId: "sim",
      pid: epoch,
      store: { ...store, write: async (batch) => (mine === epoch ? store.write(batch) : undefined) },
      policy: options.policy ?? restartPolicy,
    });
    for (const daemon of all)
      next.registerFactory({
        daemonType: daemon.name,
        factory: factoryOf(daemon, mine),
        dependsOn: daemon.dependsOn,
        critical: daemon.critical,
        maxRestarts: daemon.maxRestarts,
        healthCheck: healthOf(daemon),
        readyAfterMs: null,
      });
    void next.startAll();
    return next;
  };

  const anyDaemon = () => all[pick(random, all.length)]!;
  const reset = (daemon: Synthetic) => {
    if (manager.clearPermanentlyFailed(daemon.name)) Object.assign(daemon, { restarts: [], failedAt: null });
  };
  const lift = (name: string, hold: string) => {
    holds.get(name)!.delete(hold);
    const left = manager.resume(name, { hold }).length;
    if (left !== holds.get(name)!.size) broken(`${name} is held for ${left} reasons, not ${holds.get(name)!.size}`);
  };
  const operate = () => {
    const given = all.filter(({ name }) => manager.isPermanentlyFailed(name));
    const luck = random.next();
    const daemon = anyDaemon();
    if (luck < 0.6) {
      const lucky = given[pick(random, Math.max(1, given.length))];
      if (lucky !== undefined) reset(lucky);
    } else if (luck < 0.7) {
      daemon.failedAt = null;
      daemon.isDismissed = daemon.live > 0;
      void manager.stop(daemon.name);
    } else if (luck < 0.8) {
      // Several reasons may hold one; each is lifted by itself.
      const hold = HOLDS[pick(random, HOLDS.length)]!;
      holds.get(daemon.name)!.add(hold);
      manager.pause(daemon.name, hold, { hold });
    } else {
      for (const { name } of all) for (const hold of HOLDS) if (random.next() < 0.5) lift(name, hold);
      void manager.startAll();
    }
  };
  const befall = () => {
    // The disk is full, the power flickers: now and then all fall at once.
    if (random.next() < 0.003) {
      trace.push(`${clock.monotonic()} fault throw everybody`);
      for (const { strike, ready } of all) if (ready) strike?.("throw");
      return;
    }
    const isGround = random.next() < 0.1;
    const daemon = isGround ? all[pick(random, 5)]! : anyDaemon();
    const fault: Fault = isGround ? "dependency_down" : FAULTS[pick(random, FAULTS.length)]!;
    trace.push(`${clock.monotonic()} fault ${fault} ${daemon.name}`);
    if (daemon.ready && daemon.strike !== undefined) daemon.strike(fault);
    else if (daemon.armed.length < 8) daemon.armed.push(fault);
    // What went deaf is let go some day.
    if (random.next() < 0.05) for (const { release } of all) release?.();
  };

  let manager = boot();
  const breathe = () => new Promise<void>((resolve) => setImmediate(resolve));
  const pass = async (ms: number) => {
    let over = false;
    clock.after(ms, () => {
      over = true;
    });
    while (!over) {
      clock.step();
      await breathe();
    }
  };
  for (let i = 0; i < options.faults; i += 1) {
    await pass(pick(random, 8_000));
    befall();
    if (random.next() < 0.2) operate();
    if (random.next() < 0.0005) {
      crashes += 1;
      trace.push(`${clock.monotonic()} crash`);
      manager = boot();
    }
  }

  // The faults stop. Without a hand on it, all runs again that was not given up and does not stand on what was.
  calm = true;
  for (const daemon of all) {
    daemon.armed.length = 0;
    daemon.health = "good";
    for (const hold of HOLDS) lift(daemon.name, hold);
    daemon.release?.();
  }
  void manager.startAll();
  await pass(30 * MINUTE);
  const lost = new Set<string>();
  for (const { name, dependsOn } of all)
    if (manager.isPermanentlyFailed(name) || dependsOn.some((on) => lost.has(on))) lost.add(name);
  for (const { name } of all)
    if (manager.isRunning(name) === lost.has(name))
      broken(`${name} ${lost.has(name) ? "runs" : "does not run"} in the end`);
  for (const daemon of all) reset(daemon);
  await pass(30 * MINUTE);
  const missing = all.filter(({ name, ready }) => !manager.isRunning(name) || !ready).map(({ name }) => name);

  let ended = false;
  void manager.shutdown().then(() => {
    ended = true;
  });
  while (!ended) {
    clock.step();
    await breathe();
  }
  return {
    trace,
    violations,
    runs,
    restarts,
    gaveUp,
    crashes,
    virtualHours: clock.monotonic() / 3_600_000,
    missing,
    left: { timers: timersOpen(), handles },
  };
}

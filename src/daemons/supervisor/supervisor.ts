import { messageOf, momentOf, OperatingError, type Random, type Timer } from "../../kernel/index.ts";
import { MAX_TEXT } from "../limits.ts";
import type { Surroundings } from "./config.ts";
import type { DaemonHealth, PermanentFailure } from "./daemon.ts";
import { type DaemonRun, type RunEnd, startRun } from "./daemon-run.ts";
import type { DependencyGraph } from "./dependency-graph.ts";
import { watchHealth } from "./health-watch.ts";
import { type Hold, heldBecause, withHold, withoutHold } from "./holds.ts";
import { pathToTrouble, planNext } from "./plan.ts";
import { Reporter, SELF } from "./reporter.ts";
import { noCascade, type RestartPolicy } from "./restart-policy.ts";
import { type Daemon, type Ending, isBarred, pausedBecause, unchecked, viewOf, viewsOf } from "./supervised-daemon.ts";

interface SupervisorOptions extends Surroundings {
  readonly random: Random;
  readonly policy: RestartPolicy;
  /** All that are registered, by name; whoever adds one lets it be adopted. */
  readonly daemons: ReadonlyMap<string, Daemon>;
  readonly graph: () => DependencyGraph;
}

/** As long as a timer may run; then it is begun anew. */
const FOREVER_MS = 0x7fff_ffff;
/** The last records get this long even when all the time for the end is spent. */
const MIN_DRAIN_MS = 10;

/** A module that is not there does not come by trying again. */
const isImportFailure = (thrown: unknown): boolean =>
  thrown instanceof Error && (thrown as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";

/**
 * The edge of the supervisor: acts on what the plan and the restart policy decide, and writes down what it did. After
 * every change it asks the plan anew, so no order of events can leave it waiting for one that is over.
 */
export class Supervisor {
  readonly #o: SupervisorOptions;
  readonly #daemons: ReadonlyMap<string, Daemon>;
  readonly #reporter: Reporter;
  /** Questions that are answered by a later state. Each says whether it is answered. */
  #waiting: (() => boolean)[] = [];
  #cascade = noCascade;
  #wake: Timer | undefined;
  #planning = false;
  #again = false;
  #open = true;
  #closing: Promise<{ hung: string[] }> | undefined;
  /** When whoever forces the end wants it to be over, on the monotonic clock. */
  #endBy = Number.POSITIVE_INFINITY;
  /** Keeps the process alive while something is to run in it. */
  #keepsAlive: Timer | undefined;

  constructor(options: SupervisorOptions) {
    this.#o = options;
    this.#daemons = options.daemons;
    this.#reporter = new Reporter(options);
  }

  mustBeOpen(): void {
    if (!this.#open)
      throw OperatingError.unavailable("MANAGER_STOPPED", "the supervisor has shut down", { retryable: false });
  }

  adopt(daemon: Daemon): void {
    // What hung in an earlier process ended with it; nothing is left that a second run could meet.
    if (daemon.record.permanentFailure?.kind === "hung")
      this.#lift(daemon, "the process in which it hung has ended", SELF, daemon.record.restarts);
    this.#reporter.condition(daemon, "Ready", "false", "NotStarted");
    this.#reporter.condition(daemon, "Healthy", "unknown", "NotStarted");
  }

  want(daemons: readonly Daemon[], actor: string): void {
    for (const daemon of daemons) {
      daemon.wanted = true;
      daemon.wantedBy = actor;
      daemon.leftFailed = false;
    }
    this.#reconcile();
  }

  start(daemon: Daemon, waitForDeps: boolean, actor: string): Promise<boolean> {
    if (daemon.phase === "running" && daemon.wanted) return Promise.resolve(true);
    if (!waitForDeps && this.#firstDown(daemon) !== undefined) {
      this.#o.log.warn("a daemon was not started: a dependency is not ready", {
        daemon: daemon.spec.name,
        dependency: this.#firstDown(daemon),
      });
      return Promise.resolve(false);
    }
    const { failures, wanted } = daemon;
    let late = false;
    // Whoever asks for this one does not wait for its backoff; what it has spent stays spent.
    daemon.notBefore = Number.NEGATIVE_INFINITY;
    this.want([daemon], actor);
    const patience = this.#o.clock.after(this.#o.config.dependencyWaitTimeoutMs, () => {
      if (daemon.phase !== "down" || this.#firstDown(daemon) === undefined) return;
      late = true;
      // Whoever wanted it before still does.
      daemon.wanted = wanted;
      this.#reconcile();
    });
    return this.#until(() => {
      if (daemon.phase === "running") return true;
      const isHopeless = late || !this.#open || !daemon.wanted || isBarred(daemon) || daemon.failures > failures;
      return isHopeless ? false : undefined;
    }).finally(() => patience.cancel());
  }

  /** Resolves when each of them is ready, or will not be before something else happens. */
  async startAll(daemons: readonly Daemon[], actor: string): Promise<void> {
    const failures = new Map(daemons.map((daemon) => [daemon, daemon.failures]));
    this.want(daemons, actor);
    const isSettled = (daemon: Daemon): boolean => {
      if (daemon.phase === "running") return true;
      if (daemon.phase !== "down") return false;
      if (!daemon.wanted || isBarred(daemon) || daemon.failures > (failures.get(daemon) ?? daemon.failures))
        return true;
      return daemon.spec.dependsOn.some((on) => {
        const needed = this.#daemons.get(on);
        return needed === undefined || (needed.phase !== "running" && isSettled(needed));
      });
    };
    await this.#until(() => (!this.#open || daemons.every(isSettled) ? true : undefined));
  }

  stop(daemon: Daemon, actor: string): Promise<boolean> {
    const { run } = daemon;
    daemon.wanted = false;
    daemon.wantedBy = actor;
    daemon.owes = false;
    daemon.notBefore = Number.NEGATIVE_INFINITY;
    this.#reconcile();
    return this.#until(() => {
      if (run === undefined || daemon.run !== run) return run === undefined || daemon.zombie !== run;
      return daemon.wanted && daemon.phase !== "stopping" ? false : undefined;
    });
  }

  hold(daemon: Daemon, hold: string, reason: string, actor: string): void {
    const next = { hold, reason: reason.slice(0, MAX_TEXT), actor, since: this.#o.clock.now() };
    this.#setHolds(daemon, withHold(daemon.record.holds, next), "held", next.reason, actor);
  }

  /** Lifts one hold, or all of them. */
  release(daemon: Daemon, hold: string | null, actor: string): void {
    const { holds } = daemon.record;
    const left = withoutHold(holds, hold);
    const reason = heldBecause(holds.filter((each) => !left.includes(each))) ?? "";
    this.#setHolds(daemon, left, "released", reason, actor);
  }

  #setHolds(daemon: Daemon, holds: readonly Hold[], action: "held" | "released", reason: string, actor: string): void {
    if (holds === daemon.record.holds) return;
    daemon.record = { ...daemon.record, holds };
    this.#reporter.holds(daemon, action, reason, actor);
    this.#reconcile();
  }

  reset(daemon: Daemon, actor: string): boolean {
    if (daemon.record.permanentFailure === null && !daemon.leftFailed) return false;
    this.#lift(daemon, "reset", actor, []);
    this.#reconcile();
    return true;
  }

  flush(timeoutMs: number): Promise<boolean> {
    return this.#reporter.flush(timeoutMs);
  }

  close(timeoutMs: number, force: boolean): Promise<{ hung: string[] }> {
    this.#closing ??= this.#close(timeoutMs);
    if (force) {
      this.#endBy = Math.min(this.#endBy, this.#o.clock.monotonic() + timeoutMs);
      // A part of the time is for writing down how they ended.
      this.#hurry(timeoutMs * 0.9);
    }
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<{ hung: string[] }> {
    const { clock, config } = this.#o;
    this.#open = false;
    for (const daemon of this.#daemons.values()) {
      daemon.wanted = false;
      daemon.wantedBy = "shutdown";
      daemon.owes = false;
    }
    // Whoever waits for the end may be all that keeps the process alive.
    const deadline = clock.after(timeoutMs, () => this.#hurry(), "hold");
    this.#reconcile();
    await this.#until(() => ([...this.#daemons.values()].every(({ phase }) => phase === "down") ? true : undefined));
    deadline.cancel();
    this.#wake?.cancel();
    await this.#reporter.close(
      Math.min(config.forceKillTimeoutMs, Math.max(MIN_DRAIN_MS, this.#endBy - clock.monotonic())),
    );
    const hung = [...this.#daemons.values()].filter(({ zombie }) => zombie !== undefined);
    return { hung: hung.map(({ spec }) => spec.name) };
  }

  /** No more order and no more grace: all that live are forced now. */
  #hurry(withinMs = Number.POSITIVE_INFINITY): void {
    const forceMs = Math.min(withinMs, this.#o.config.forceKillTimeoutMs);
    for (const daemon of this.#daemons.values()) {
      if (daemon.run === undefined) continue;
      daemon.ending ??= { reason: "forced shutdown", cause: null, actor: "shutdown", failed: false };
      daemon.phase = "stopping";
      daemon.run.stop(daemon.ending.reason, 0, forceMs);
    }
  }

  // What follows from how things stand.

  #firstDown(daemon: Daemon): string | undefined {
    return daemon.spec.dependsOn.find((on) => this.#daemons.get(on)?.phase !== "running");
  }

  #reconcile(): void {
    if (this.#planning) {
      this.#again = true;
      return;
    }
    this.#planning = true;
    do {
      this.#again = false;
      this.#step();
    } while (this.#again);
    this.#planning = false;
    this.#keepAlive();
    this.#waiting = this.#waiting.filter((isAnswered) => !isAnswered());
  }

  /** A supervisor of its own is reason enough for a process to live, as long as one of its daemons runs or shall run. */
  #keepAlive(): void {
    const isBusy = [...this.#daemons.values()].some(
      (daemon) => daemon.run !== undefined || (daemon.wanted && !isBarred(daemon)),
    );
    if (isBusy) {
      this.#keepsAlive ??= this.#o.clock.after(
        FOREVER_MS,
        () => {
          this.#keepsAlive = undefined;
          this.#keepAlive();
        },
        "hold",
      );
      return;
    }
    this.#keepsAlive?.cancel();
    this.#keepsAlive = undefined;
  }

  #step(): void {
    const { clock } = this.#o;
    const ordered = this.#o.graph().order.map((name) => this.#daemons.get(name)!);
    const plan = planNext(ordered.map(viewOf), clock.monotonic());
    for (const { name, dependency } of plan.stop) this.#end(this.#daemons.get(name)!, this.#whyEnd(name, dependency));
    for (const name of plan.start) this.#launch(this.#daemons.get(name)!);
    this.#noteWaiting(ordered);
    this.#wake?.cancel();
    this.#wake = undefined;
    if (plan.wakeAt !== null)
      this.#wake = clock.after(Math.max(0, plan.wakeAt - clock.monotonic()), () => this.#reconcile());
  }

  #whyEnd(name: string, dependency: string | null): Ending {
    const daemon = this.#daemons.get(name)!;
    if (dependency !== null) {
      const root = pathToTrouble(viewsOf(this.#daemons), dependency).at(-1)!;
      return { reason: `paused: '${root}' is not running`, cause: root, actor: SELF, failed: false };
    }
    const held = heldBecause(daemon.record.holds);
    if (daemon.wanted && held !== null) return { reason: held, cause: null, actor: SELF, failed: false };
    return { reason: `stopped by ${daemon.wantedBy}`, cause: null, actor: daemon.wantedBy, failed: false };
  }

  /** Says of those that wait what they wait for. A restart that is due to a dependency is not on their own account. */
  #noteWaiting(daemons: readonly Daemon[]): void {
    const views = viewsOf(this.#daemons);
    for (const daemon of daemons) {
      if (!daemon.wanted || daemon.phase !== "down" || isBarred(daemon)) continue;
      if (this.#firstDown(daemon) === undefined) {
        this.#reporter.condition(daemon, "DependenciesReady", "true", "Ready");
        continue;
      }
      daemon.owes = false;
      const message = pausedBecause(daemon, pathToTrouble(views, daemon.spec.name))?.reason ?? "";
      this.#reporter.condition(daemon, "DependenciesReady", "false", "DependencyDown", message);
    }
  }

  // The life of a run.

  #launch(daemon: Daemon): void {
    const { clock, config, log } = this.#o;
    const { spec } = daemon;
    if (daemon.owes) {
      const now = clock.monotonic();
      if (!spec.critical && this.#cascade.pausedUntil > now) {
        daemon.notBefore = this.#cascade.pausedUntil;
        this.#again = true;
        return;
      }
      this.#spend(daemon);
    }
    daemon.owes = false;
    daemon.phase = "starting";
    daemon.runs += 1;
    daemon.misses = 0;
    daemon.ending = undefined;
    this.#reporter.condition(daemon, "DependenciesReady", "true", "Ready");
    this.#reporter.condition(daemon, "Ready", "false", "Starting");
    const run: DaemonRun = startRun({
      spec,
      run: daemon.runs,
      clock,
      log: log.child({ daemon: spec.name }),
      pollMs: config.dependencyPollIntervalMs,
      onReady: () => this.#ready(daemon, run),
      onLate: () => this.#condemn(daemon, run, `not ready after ${spec.startTimeoutMs / 1_000} s`),
      onEnd: (end) => this.#over(daemon, run, end),
      onHung: () => this.#hung(daemon, run),
    });
    daemon.run = run;
  }

  /** A restart on its own account is written down before it happens. */
  #spend(daemon: Daemon): void {
    const { clock, config, policy } = this.#o;
    const now = clock.now();
    daemon.record = { ...daemon.record, restarts: policy.spendRestart(config, daemon.record.restarts, now) };
    if (policy.isCrashLoop(config, daemon.record.restarts, daemon.record.crashLoopToldAt, now)) {
      daemon.record = { ...daemon.record, crashLoopToldAt: now };
      this.#reporter.crashLoop(daemon);
    }
    this.#reporter.save(daemon);
    const before = this.#cascade.pausedUntil;
    this.#cascade = policy.noteRestart(config, this.#cascade, clock.monotonic());
    if (this.#cascade.pausedUntil > before) this.#reporter.cascade(daemon);
  }

  #ready(daemon: Daemon, run: DaemonRun): void {
    if (daemon.run !== run || daemon.phase !== "starting") return;
    const { clock, config } = this.#o;
    const { spec } = daemon;
    daemon.phase = "running";
    daemon.started = momentOf(clock);
    daemon.health = { healthy: true, status: "running", message: "not checked yet", details: {}, checkedAt: null };
    const check = spec.healthCheck;
    if (check === undefined) this.#reporter.condition(daemon, "Healthy", "true", "NoCheck");
    else
      daemon.watch = watchHealth({
        clock,
        everyMs: spec.healthCheckIntervalMs,
        timeoutMs: config.healthCheckTimeoutMs,
        check,
        onVerdict: (health) => this.#judge(daemon, run, health),
      });
    this.#reporter.started(daemon);
    this.#reconcile();
  }

  #judge(daemon: Daemon, run: DaemonRun, health: DaemonHealth): void {
    if (daemon.run !== run || daemon.phase !== "running") return;
    const { clock, config } = this.#o;
    const { status, message, details = {}, alive = status !== "stopped" } = health;
    daemon.health = { healthy: status === "running", status, message, details, checkedAt: clock.now() };
    const word = { running: "Healthy", degraded: "Degraded", stopped: "Unhealthy" }[status];
    this.#reporter.condition(daemon, "Healthy", status === "running" ? "true" : "false", word, message);
    // In its first moments a daemon may be anything; it is shown and not acted upon.
    const isYoung = clock.monotonic() - run.begunAt < daemon.spec.startupGraceMs;
    daemon.misses = alive || isYoung ? 0 : daemon.misses + 1;
    if (daemon.misses >= config.livenessFailures)
      this.#condemn(daemon, run, `found dead by ${daemon.misses} health checks: ${message || status}`);
  }

  /** Ends a run that failed without ending. */
  #condemn(daemon: Daemon, run: DaemonRun, reason: string): void {
    if (daemon.run !== run || daemon.phase === "stopping") return;
    this.#end(daemon, { reason, cause: daemon.spec.name, actor: SELF, failed: true });
    this.#reconcile();
  }

  #end(daemon: Daemon, ending: Ending): void {
    const { shutdownTimeoutMs, forceKillTimeoutMs } = this.#o.config;
    daemon.ending = ending;
    daemon.phase = "stopping";
    daemon.watch?.stop();
    daemon.watch = undefined;
    this.#reporter.condition(daemon, "Ready", "false", "Stopping", ending.reason);
    daemon.run?.stop(ending.reason, shutdownTimeoutMs, forceKillTimeoutMs);
  }

  #over(daemon: Daemon, run: DaemonRun, end: RunEnd): void {
    if (daemon.zombie === run) {
      daemon.zombie = undefined;
      this.#o.log.warn("a daemon that did not stop in time has ended now", { daemon: daemon.spec.name });
      this.#reconcile();
      return;
    }
    if (daemon.run !== run) return;
    const { ending } = daemon;
    if (ending === undefined && end.kind === "returned") daemon.wanted = false;
    if (ending?.failed) {
      this.#ended(daemon, ending);
      this.#failed(daemon, ending.reason, undefined);
    } else if (ending !== undefined || end.kind === "returned") {
      const why = ending ?? { reason: "its work is done", cause: null, actor: daemon.spec.name, failed: false };
      if (end.kind === "threw")
        this.#o.log.debug("a daemon threw an error while it stopped", {
          daemon: daemon.spec.name,
          error: messageOf(end.thrown),
        });
      this.#ended(daemon, why);
    } else {
      this.#down(daemon, "Failed", messageOf(end.thrown));
      this.#failed(daemon, messageOf(end.thrown), end.thrown);
    }
    this.#reconcile();
  }

  #hung(daemon: Daemon, run: DaemonRun): void {
    if (daemon.run !== run) return;
    const reason = `it did not end when it was told to: ${daemon.ending?.reason ?? "stop"}`;
    daemon.zombie = run;
    this.#down(daemon, "Hung", reason);
    daemon.failures += 1;
    daemon.lastError = reason.slice(0, MAX_TEXT);
    this.#giveUp(daemon, "hung", reason);
    this.#reconcile();
  }

  #down(daemon: Daemon, why: string, message: string): void {
    daemon.watch?.stop();
    daemon.watch = undefined;
    daemon.run = undefined;
    daemon.ending = undefined;
    daemon.phase = "down";
    daemon.started = null;
    daemon.health = unchecked;
    daemon.misses = 0;
    this.#reporter.condition(daemon, "Ready", "false", why, message);
    this.#reporter.condition(daemon, "Healthy", "unknown", "NotRunning");
  }

  #ended(daemon: Daemon, ending: Ending): void {
    const { started } = daemon;
    this.#down(daemon, ending.cause === null ? "Stopped" : "Paused", ending.reason);
    this.#reporter.ended(daemon, ending, started);
  }

  #failed(daemon: Daemon, error: string, thrown: unknown): void {
    const { clock, config, policy, random } = this.#o;
    const { spec, record } = daemon;
    daemon.failures += 1;
    daemon.lastError = error.slice(0, MAX_TEXT);
    const dependency = this.#firstDown(daemon);
    const cause = dependency === undefined ? spec.name : pathToTrouble(viewsOf(this.#daemons), dependency).at(-1)!;
    this.#reporter.failed(daemon, error, cause);
    // What falls with its dependency rises with it, and pays nothing.
    if (!daemon.wanted || dependency !== undefined) return;
    if (isImportFailure(thrown)) {
      this.#giveUp(daemon, "import", error);
      return;
    }
    if (!spec.autoRestart || !config.autoRestartFailed) {
      daemon.leftFailed = true;
      return;
    }
    const verdict = policy.afterFailure(config, spec.maxRestarts, record.restarts, clock.now(), random);
    if (verdict.kind === "give_up") {
      this.#giveUp(daemon, "restarts", `${verdict.restarts} restarts did not help: ${error}`);
    } else {
      daemon.owes = true;
      daemon.notBefore = clock.monotonic() + verdict.delayMs;
    }
  }

  #giveUp(daemon: Daemon, kind: PermanentFailure["kind"], why: string): void {
    const reason = why.slice(0, MAX_TEXT);
    const restarts = daemon.record.restarts.length;
    const failure = { kind, at: this.#o.clock.now(), reason, error: daemon.lastError, restarts };
    daemon.owes = false;
    daemon.record = { ...daemon.record, permanentFailure: failure };
    this.#reporter.gaveUp(daemon, failure);
  }

  #lift(daemon: Daemon, reason: string, actor: string, restarts: readonly number[]): void {
    daemon.leftFailed = false;
    daemon.notBefore = Number.NEGATIVE_INFINITY;
    daemon.record = { ...daemon.record, permanentFailure: null, crashLoopToldAt: null, restarts };
    this.#reporter.reset(daemon, reason, actor);
  }

  /** Resolves as soon as the question has an answer. */
  #until<T>(ask: () => T | undefined): Promise<T> {
    const now = ask();
    if (now !== undefined) return Promise.resolve(now);
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        const answer = ask();
        if (answer !== undefined) resolve(answer);
        return answer !== undefined;
      });
    });
  }
}

import { type Clock, type Log, messageOf, OperatingError, type Random, type Timer } from "../../kernel/index.ts";
import { type Cell, type Ending, isBarred, pausedBecause, unchecked, viewOf } from "./cell.ts";
import { Chronicle, MOST_TEXT, SELF } from "./chronicle.ts";
import type { DaemonManagerConfig } from "./config.ts";
import type { DaemonHealth, PermanentFailure } from "./daemon.ts";
import type { DependencyGraph } from "./dependency-graph.ts";
import { watchHealth } from "./health-watch.ts";
import { type Hold, heldBecause, withHold, withoutHold } from "./holds.ts";
import type { SupervisionLedger } from "./ledger.ts";
import { type DaemonView, pathToTrouble, planNext } from "./plan.ts";
import { noCascade, type RestartPolicy } from "./restart-policy.ts";
import { type DaemonRun, type RunEnd, startRun } from "./run.ts";

interface SupervisorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeId: string;
  readonly pid: number;
  readonly config: DaemonManagerConfig;
  readonly policy: RestartPolicy;
  readonly ledger: SupervisionLedger;
  readonly graph: () => DependencyGraph;
}

/** A module that is not there does not come by trying again. */
const isImportFailure = (thrown: unknown): boolean =>
  thrown instanceof Error && (thrown as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";

/**
 * The edge of the supervisor: acts on what the plan and the restart policy decide, and writes down what it did. After
 * every change it asks the plan anew, so no order of events can leave it waiting for one that is over.
 */
export class Supervisor {
  readonly #o: SupervisorOptions;
  readonly #cells = new Map<string, Cell>();
  readonly #chronicle: Chronicle;
  /** Questions that are answered by a later state. Each says whether it is answered. */
  #waiting: (() => boolean)[] = [];
  #cascade = noCascade;
  #wake: Timer | undefined;
  #planning = false;
  #again = false;
  #open = true;
  #closing: Promise<{ hung: string[] }> | undefined;

  constructor(options: SupervisorOptions) {
    this.#o = options;
    this.#chronicle = new Chronicle(options);
  }

  mustBeOpen(): void {
    if (!this.#open) throw new OperatingError("MANAGER_STOPPED", "the supervisor has shut down");
  }

  adopt(cell: Cell): void {
    this.#cells.set(cell.spec.name, cell);
    // What hung in an earlier process ended with it; nothing is left that a second run could meet.
    if (cell.book.permanentFailure?.kind === "hung")
      this.#lift(cell, "the process in which it hung has ended", SELF, cell.book.restarts);
    this.#chronicle.condition(cell, "Ready", "false", "NotStarted", "");
    this.#chronicle.condition(cell, "Healthy", "unknown", "NotStarted", "");
  }

  want(cells: readonly Cell[], actor: string): void {
    for (const cell of cells) {
      cell.wanted = true;
      cell.wantedBy = actor;
      cell.leftFailed = false;
    }
    this.#reconcile();
  }

  start(cell: Cell, waitForDeps: boolean, actor: string): Promise<boolean> {
    if (cell.phase === "running" && cell.wanted) return Promise.resolve(true);
    if (!waitForDeps && this.#firstDown(cell) !== undefined) {
      this.#o.log.warn("a daemon was not started: a dependency is not ready", {
        daemon: cell.spec.name,
        dependency: this.#firstDown(cell),
      });
      return Promise.resolve(false);
    }
    const { failures, wanted } = cell;
    let late = false;
    // Whoever asks for this one does not wait for its backoff; what it has spent stays spent.
    cell.notBefore = Number.NEGATIVE_INFINITY;
    this.want([cell], actor);
    const patience = this.#o.clock.after(this.#o.config.dependencyWaitTimeoutMs, () => {
      if (cell.phase !== "down" || this.#firstDown(cell) === undefined) return;
      late = true;
      // Whoever wanted it before still does.
      cell.wanted = wanted;
      this.#reconcile();
    });
    return this.#until(() => {
      if (cell.phase === "running") return true;
      const isHopeless = late || !this.#open || !cell.wanted || isBarred(cell) || cell.failures > failures;
      return isHopeless ? false : undefined;
    }).finally(() => patience.cancel());
  }

  /** Resolves when each of them is ready, or will not be before something else happens. */
  async startAll(cells: readonly Cell[], actor: string): Promise<void> {
    const failures = new Map(cells.map((cell) => [cell, cell.failures]));
    this.want(cells, actor);
    const isSettled = (cell: Cell): boolean => {
      if (cell.phase === "running") return true;
      if (cell.phase !== "down") return false;
      if (!cell.wanted || isBarred(cell) || cell.failures > (failures.get(cell) ?? cell.failures)) return true;
      return cell.spec.dependsOn.some((on) => {
        const needed = this.#cells.get(on);
        return needed === undefined || (needed.phase !== "running" && isSettled(needed));
      });
    };
    await this.#until(() => (!this.#open || cells.every(isSettled) ? true : undefined));
  }

  stop(cell: Cell, actor: string): Promise<boolean> {
    const { run } = cell;
    cell.wanted = false;
    cell.wantedBy = actor;
    cell.owes = false;
    cell.notBefore = Number.NEGATIVE_INFINITY;
    this.#reconcile();
    return this.#until(() => {
      if (run === undefined || cell.run !== run) return run === undefined || cell.zombie !== run;
      return cell.wanted && cell.phase !== "stopping" ? false : undefined;
    });
  }

  hold(cell: Cell, hold: string, reason: string, actor: string): void {
    const next = { hold, reason: reason.slice(0, MOST_TEXT), actor, since: this.#o.clock.now() };
    this.#setHolds(cell, withHold(cell.book.holds, next), "held", next.reason, actor);
  }

  /** Lifts one hold, or all of them. */
  release(cell: Cell, hold: string | null, actor: string): void {
    const { holds } = cell.book;
    const left = withoutHold(holds, hold);
    const reason = heldBecause(holds.filter((each) => !left.includes(each))) ?? "";
    this.#setHolds(cell, left, "released", reason, actor);
  }

  #setHolds(cell: Cell, holds: readonly Hold[], action: "held" | "released", reason: string, actor: string): void {
    if (holds === cell.book.holds) return;
    cell.book = { ...cell.book, holds };
    this.#chronicle.holds(cell, action, reason, actor);
    this.#reconcile();
  }

  reset(cell: Cell, actor: string): boolean {
    if (cell.book.permanentFailure === null && !cell.leftFailed) return false;
    this.#lift(cell, "reset", actor, []);
    this.#reconcile();
    return true;
  }

  flush(timeoutMs: number): Promise<boolean> {
    return this.#chronicle.flush(timeoutMs);
  }

  close(timeoutMs: number, force: boolean): Promise<{ hung: string[] }> {
    this.#closing ??= this.#close(timeoutMs);
    if (force) this.#hurry();
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<{ hung: string[] }> {
    const { clock, config } = this.#o;
    this.#open = false;
    for (const cell of this.#cells.values()) {
      cell.wanted = false;
      cell.wantedBy = "shutdown";
      cell.owes = false;
    }
    // Whoever waits for the end may be all that keeps the process alive.
    const deadline = clock.after(timeoutMs, () => this.#hurry(), "hold");
    this.#reconcile();
    await this.#until(() => ([...this.#cells.values()].every(({ phase }) => phase === "down") ? true : undefined));
    deadline.cancel();
    this.#wake?.cancel();
    await this.#chronicle.close(config.forceKillTimeoutMs);
    const hung = [...this.#cells.values()].filter(({ zombie }) => zombie !== undefined);
    return { hung: hung.map(({ spec }) => spec.name) };
  }

  /** No more order and no more grace: all that live are forced now. */
  #hurry(): void {
    for (const cell of this.#cells.values()) {
      if (cell.run === undefined) continue;
      cell.ending ??= { reason: "forced shutdown", cause: null, actor: "shutdown", failed: false };
      cell.phase = "stopping";
      cell.run.stop(cell.ending.reason, 0, this.#o.config.forceKillTimeoutMs);
    }
  }

  // What follows from how things stand.

  #firstDown(cell: Cell): string | undefined {
    return cell.spec.dependsOn.find((on) => this.#cells.get(on)?.phase !== "running");
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
    this.#waiting = this.#waiting.filter((isAnswered) => !isAnswered());
  }

  #step(): void {
    const { clock } = this.#o;
    const ordered = this.#o.graph().order.map((name) => this.#cells.get(name)!);
    const plan = planNext(ordered.map(viewOf), clock.monotonic());
    for (const { name, dependency } of plan.stop) this.#end(this.#cells.get(name)!, this.#whyEnd(name, dependency));
    for (const name of plan.start) this.#launch(this.#cells.get(name)!);
    this.#noteWaiting(ordered);
    this.#wake?.cancel();
    this.#wake = undefined;
    if (plan.wakeAt !== null)
      this.#wake = clock.after(Math.max(0, plan.wakeAt - clock.monotonic()), () => this.#reconcile());
  }

  #whyEnd(name: string, dependency: string | null): Ending {
    const cell = this.#cells.get(name)!;
    if (dependency !== null) {
      const root = pathToTrouble(this.#views(), dependency).at(-1)!;
      return { reason: `paused: '${root}' is not running`, cause: root, actor: SELF, failed: false };
    }
    const held = heldBecause(cell.book.holds);
    if (cell.wanted && held !== null) return { reason: held, cause: null, actor: SELF, failed: false };
    return { reason: `stopped by ${cell.wantedBy}`, cause: null, actor: cell.wantedBy, failed: false };
  }

  #views(): Map<string, DaemonView> {
    return new Map([...this.#cells].map(([name, cell]) => [name, viewOf(cell)]));
  }

  /** Says of those that wait what they wait for. A restart that is due to a dependency is not on their own account. */
  #noteWaiting(cells: readonly Cell[]): void {
    const views = this.#views();
    for (const cell of cells) {
      if (!cell.wanted || cell.phase !== "down" || isBarred(cell)) continue;
      if (this.#firstDown(cell) === undefined) {
        this.#chronicle.condition(cell, "DependenciesReady", "true", "Ready", "");
        continue;
      }
      cell.owes = false;
      const message = pausedBecause(cell, pathToTrouble(views, cell.spec.name)) ?? "";
      this.#chronicle.condition(cell, "DependenciesReady", "false", "DependencyDown", message);
    }
  }

  // The life of a run.

  #launch(cell: Cell): void {
    const { clock, config, log } = this.#o;
    const { spec } = cell;
    if (cell.owes) {
      const now = clock.monotonic();
      if (!spec.critical && this.#cascade.pausedUntil > now) {
        cell.notBefore = this.#cascade.pausedUntil;
        this.#again = true;
        return;
      }
      this.#spend(cell);
    }
    cell.owes = false;
    cell.phase = "starting";
    cell.runs += 1;
    cell.misses = 0;
    cell.ending = undefined;
    this.#chronicle.condition(cell, "DependenciesReady", "true", "Ready", "");
    this.#chronicle.condition(cell, "Ready", "false", "Starting", "");
    const run: DaemonRun = startRun({
      spec,
      run: cell.runs,
      clock,
      log: log.child({ daemon: spec.name }),
      pollMs: config.dependencyPollIntervalMs,
      onReady: () => this.#ready(cell, run),
      onLate: () => this.#condemn(cell, run, `not ready after ${spec.startTimeoutMs / 1_000} s`),
      onEnd: (end) => this.#over(cell, run, end),
      onHung: () => this.#hung(cell, run),
    });
    cell.run = run;
  }

  /** A restart on its own account is written down before it happens. */
  #spend(cell: Cell): void {
    const { clock, config, policy } = this.#o;
    const now = clock.now();
    cell.book = { ...cell.book, restarts: policy.spendRestart(config, cell.book.restarts, now) };
    if (policy.isCrashLoop(config, cell.book.restarts, cell.book.crashLoopToldAt, now)) {
      cell.book = { ...cell.book, crashLoopToldAt: now };
      this.#chronicle.crashLoop(cell);
    }
    this.#chronicle.save(cell);
    const before = this.#cascade.pausedUntil;
    this.#cascade = policy.noteRestart(config, this.#cascade, clock.monotonic());
    if (this.#cascade.pausedUntil > before) this.#chronicle.cascade(cell);
  }

  #ready(cell: Cell, run: DaemonRun): void {
    if (cell.run !== run || cell.phase !== "starting") return;
    const { clock, config } = this.#o;
    const { spec } = cell;
    cell.phase = "running";
    cell.startedAt = clock.now();
    cell.health = { healthy: true, status: "running", message: "not checked yet", details: {}, checkedAt: null };
    const check = spec.healthCheck;
    if (check === undefined) this.#chronicle.condition(cell, "Healthy", "true", "NoCheck", "");
    else
      cell.watch = watchHealth({
        clock,
        everyMs: spec.healthCheckIntervalMs,
        timeoutMs: config.healthCheckTimeoutMs,
        check,
        onVerdict: (health) => this.#judge(cell, run, health),
      });
    this.#chronicle.started(cell);
    this.#reconcile();
  }

  #judge(cell: Cell, run: DaemonRun, health: DaemonHealth): void {
    if (cell.run !== run || cell.phase !== "running") return;
    const { clock, config } = this.#o;
    const { status, message, details = {}, alive = status !== "stopped" } = health;
    cell.health = { healthy: status === "running", status, message, details, checkedAt: clock.now() };
    const word = { running: "Healthy", degraded: "Degraded", stopped: "Unhealthy" }[status];
    this.#chronicle.condition(cell, "Healthy", status === "running" ? "true" : "false", word, message);
    // In its first moments a daemon may be anything; it is shown and not acted upon.
    const isYoung = clock.monotonic() - run.begunAt < cell.spec.startupGraceMs;
    cell.misses = alive || isYoung ? 0 : cell.misses + 1;
    if (cell.misses >= config.livenessFailures)
      this.#condemn(cell, run, `found dead by ${cell.misses} health checks: ${message || status}`);
  }

  /** Ends a run that failed without ending. */
  #condemn(cell: Cell, run: DaemonRun, reason: string): void {
    if (cell.run !== run || cell.phase === "stopping") return;
    this.#end(cell, { reason, cause: cell.spec.name, actor: SELF, failed: true });
    this.#reconcile();
  }

  #end(cell: Cell, ending: Ending): void {
    const { shutdownTimeoutMs, forceKillTimeoutMs } = this.#o.config;
    cell.ending = ending;
    cell.phase = "stopping";
    cell.watch?.stop();
    cell.watch = undefined;
    this.#chronicle.condition(cell, "Ready", "false", "Stopping", ending.reason);
    cell.run?.stop(ending.reason, shutdownTimeoutMs, forceKillTimeoutMs);
  }

  #over(cell: Cell, run: DaemonRun, end: RunEnd): void {
    if (cell.zombie === run) {
      cell.zombie = undefined;
      this.#o.log.warn("a daemon that was given up has ended after all", { daemon: cell.spec.name });
      this.#reconcile();
      return;
    }
    if (cell.run !== run) return;
    const { ending } = cell;
    if (ending === undefined && end.kind === "returned") cell.wanted = false;
    if (ending?.failed) {
      this.#ended(cell, ending);
      this.#failed(cell, ending.reason, undefined);
    } else if (ending !== undefined || end.kind === "returned") {
      const why = ending ?? { reason: "its work is done", cause: null, actor: cell.spec.name, failed: false };
      if (end.kind === "threw")
        this.#o.log.debug("a daemon threw while it stopped", { daemon: cell.spec.name, error: messageOf(end.thrown) });
      this.#ended(cell, why);
    } else {
      this.#down(cell, "Failed", messageOf(end.thrown));
      this.#failed(cell, messageOf(end.thrown), end.thrown);
    }
    this.#reconcile();
  }

  #hung(cell: Cell, run: DaemonRun): void {
    if (cell.run !== run) return;
    const reason = `it did not end when it was told to: ${cell.ending?.reason ?? "stop"}`;
    cell.zombie = run;
    this.#down(cell, "Hung", reason);
    cell.failures += 1;
    cell.lastError = reason.slice(0, MOST_TEXT);
    this.#giveUp(cell, "hung", reason);
    this.#reconcile();
  }

  #down(cell: Cell, why: string, message: string): void {
    cell.watch?.stop();
    cell.watch = undefined;
    cell.run = undefined;
    cell.ending = undefined;
    cell.phase = "down";
    cell.startedAt = null;
    cell.health = unchecked;
    cell.misses = 0;
    this.#chronicle.condition(cell, "Ready", "false", why, message);
    this.#chronicle.condition(cell, "Healthy", "unknown", "NotRunning", "");
  }

  #ended(cell: Cell, ending: Ending): void {
    const { startedAt } = cell;
    this.#down(cell, ending.cause === null ? "Stopped" : "Paused", ending.reason);
    this.#chronicle.ended(cell, ending, startedAt);
  }

  #failed(cell: Cell, error: string, thrown: unknown): void {
    const { clock, config, policy, random } = this.#o;
    const { spec, book } = cell;
    cell.failures += 1;
    cell.lastError = error.slice(0, MOST_TEXT);
    const dependency = this.#firstDown(cell);
    const cause = dependency === undefined ? spec.name : pathToTrouble(this.#views(), dependency).at(-1)!;
    this.#chronicle.failed(cell, error, cause);
    // What falls with its dependency rises with it, and pays nothing.
    if (!cell.wanted || dependency !== undefined) return;
    if (isImportFailure(thrown)) {
      this.#giveUp(cell, "import", error);
      return;
    }
    if (!spec.autoRestart || !config.autoRestartFailed) {
      cell.leftFailed = true;
      return;
    }
    const verdict = policy.afterFailure(config, spec.maxRestarts, book.restarts, clock.now(), random);
    if (verdict.kind === "give_up") {
      this.#giveUp(cell, "restarts", `${verdict.restarts} restarts did not help: ${error}`);
    } else {
      cell.owes = true;
      cell.notBefore = clock.monotonic() + verdict.delayMs;
    }
  }

  #giveUp(cell: Cell, kind: PermanentFailure["kind"], why: string): void {
    const reason = why.slice(0, MOST_TEXT);
    const restarts = cell.book.restarts.length;
    const failure = { kind, at: this.#o.clock.now(), reason, error: cell.lastError, restarts };
    cell.owes = false;
    cell.book = { ...cell.book, permanentFailure: failure };
    this.#chronicle.gaveUp(cell, failure);
  }

  #lift(cell: Cell, reason: string, actor: string, restarts: readonly number[]): void {
    cell.leftFailed = false;
    cell.notBefore = Number.NEGATIVE_INFINITY;
    cell.book = { ...cell.book, permanentFailure: null, crashLoopToldAt: null, restarts };
    this.#chronicle.reset(cell, reason, actor);
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

import { assert, type Clock, type Log, OperatingError, type Random } from "../../kernel/index.ts";
import { canonicalDaemonName, daemonProfiles, resolveDaemon } from "../daemon-types.ts";
import { type Cell, createCell, infoOf, viewOf } from "./cell.ts";
import { type DaemonManagerConfig, daemonManagerDefaults } from "./config.ts";
import type { DaemonHealthReport, DaemonInfo, DaemonOptions, DaemonSpec } from "./daemon.ts";
import { type DependencyGraph, dependencyGraph, graphError, profileFaults } from "./dependency-graph.ts";
import { type Hold, OPERATOR_HOLD } from "./holds.ts";
import { type ActionRow, type Book, memoryLedger, type SupervisionLedger } from "./ledger.ts";
import { pathToTrouble } from "./plan.ts";
import { type RestartPolicy, restartPolicy } from "./restart-policy.ts";
import { Supervisor } from "./supervisor.ts";

export interface DaemonManagerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeId: string;
  readonly pid: number;
  readonly config?: Partial<DaemonManagerConfig>;
  /** Where books are kept and events are said; in memory unless given. */
  readonly ledger?: SupervisionLedger;
  /** Names of daemons by profile. */
  readonly profiles?: Readonly<Record<string, readonly string[]>>;
  readonly policy?: RestartPolicy;
}

export interface StartOptions {
  /** Wait for dependencies to become ready, up to `dependencyWaitTimeoutMs`; otherwise they must be. */
  readonly waitForDeps?: boolean;
  /** Who asks, for the audit row. */
  readonly actor?: string;
}

export interface PauseOptions {
  /** Who asks, for the audit row. */
  readonly actor?: string;
  /** Names the reason among several. */
  readonly hold?: string;
}

export interface ResumeOptions extends PauseOptions {
  /** Lift every hold, whoever set it. */
  readonly all?: boolean;
}

export interface StartAllOptions {
  readonly profile?: string;
  readonly names?: readonly string[];
  readonly actor?: string;
}

export interface StartReport {
  readonly started: readonly string[];
  /** Those that do not run, with the reason. Some of them may yet, when their backoff or their dependency is over. */
  readonly notStarted: Readonly<Record<string, string>>;
}

export interface ShutdownOptions {
  /** Time for all to end in order; then they are forced. */
  readonly timeoutMs?: number;
  /** Force them at once. */
  readonly force?: boolean;
}

export interface ShutdownReport {
  /** Did not end, and were left behind. */
  readonly hung: readonly string[];
}

const NAME = /^[\w.-]{1,100}$/;
const OPERATOR = "operator";

/**
 * The one supervisor of a process: starts daemons in the order of their dependencies, restarts what fails within a budget,
 * remembers what it gave up, and ends all of it again. `DaemonManager` of the Python system, as a value.
 */
export class DaemonManager {
  readonly config: DaemonManagerConfig;
  readonly #options: DaemonManagerOptions;
  readonly #ledger: SupervisionLedger;
  readonly #supervisor: Supervisor;
  readonly #profiles: Map<string, readonly string[]>;
  readonly #cells = new Map<string, Cell>();
  readonly #books: ReadonlyMap<string, Book>;
  /** Deprecated names that were pointed out. */
  readonly #told = new Set<string>();
  #graph: DependencyGraph | undefined;

  constructor(options: DaemonManagerOptions) {
    this.#options = options;
    this.config = { ...daemonManagerDefaults, ...options.config };
    this.#ledger = options.ledger ?? memoryLedger();
    this.#profiles = new Map(Object.entries(options.profiles ?? daemonProfiles));
    this.#books = this.#ledger.books();
    const { clock, random, log, nodeId, pid, policy = restartPolicy } = options;
    this.#supervisor = new Supervisor({
      clock,
      random,
      log,
      nodeId,
      pid,
      policy,
      config: this.config,
      ledger: this.#ledger,
      graph: () => this.#checkedGraph(),
    });
  }

  /** Puts a daemon under supervision. Its dependencies may be registered later, but before it starts. */
  registerFactory(options: DaemonOptions): void {
    this.#supervisor.mustBeOpen();
    const { config } = this;
    const name = canonicalDaemonName(options.daemonType);
    if (!NAME.test(name))
      throw new OperatingError("INVALID_DAEMON", `'${name}' is no name for a daemon`, {
        hint: "Letters, digits and _ . - are allowed, at most 100 characters.",
      });
    if (this.#cells.has(name))
      throw new OperatingError("INVALID_DAEMON", `there is a daemon '${name}' already`, {
        hint: "Each daemon is registered once; several daemon types may mean the same one.",
      });
    const critical = options.critical ?? false;
    const spec: DaemonSpec = {
      name,
      factory: options.factory,
      dependsOn: [...new Set((options.dependsOn ?? []).map(canonicalDaemonName))],
      healthCheckIntervalMs:
        options.healthCheckIntervalMs ??
        (critical ? config.criticalDaemonHealthIntervalMs : config.healthCheckIntervalMs),
      autoRestart: options.autoRestart ?? true,
      maxRestarts: options.maxRestarts ?? config.maxRestartAttempts,
      critical,
      healthCheck: options.healthCheck,
      isReady: options.isReady,
      readyAfterMs: options.readyAfterMs === undefined ? config.readyAfterMs : options.readyAfterMs,
      startTimeoutMs: options.startTimeoutMs ?? config.startTimeoutMs,
      startupGraceMs: options.startupGraceMs ?? config.startupGraceMs,
      profiles: options.profiles ?? [],
    };
    for (const profile of spec.profiles)
      this.#profiles.set(profile, [...(this.#profiles.get(profile) ?? []), spec.name]);
    this.#cells.set(name, createCell(spec, this.#books.get(name)));
    this.#graph = undefined;
    this.#supervisor.adopt(this.#cells.get(name)!);
    if (config.autoStart) this.#supervisor.want([this.#cells.get(name)!], OPERATOR);
  }

  /**
   * Starts one daemon. True once it is ready; false when it is not within reach: a dependency is not ready (in time), or
   * its first try failed. In the last case it stays wanted and is tried again within its budget.
   */
  async start(name: string, { waitForDeps = false, actor = OPERATOR }: StartOptions = {}): Promise<boolean> {
    const cell = this.#cell(name);
    const fault = this.#checkedGraph().faultOf(cell.spec.name);
    if (fault !== undefined) throw graphError(fault);
    this.#supervisor.mustBeOpen();
    const given = cell.book.permanentFailure;
    if (given !== null)
      throw new OperatingError("DAEMON_GIVEN_UP", `'${cell.spec.name}' is permanently failed: ${given.reason}`, {
        hint: "Mend the cause, then reset it: clearPermanentlyFailed().",
      });
    return this.#supervisor.start(cell, waitForDeps, actor);
  }

  /** Starts all that are registered, or those of a profile or a list, each as soon as its dependencies are ready. */
  async startAll({ profile, names, actor = OPERATOR }: StartAllOptions = {}): Promise<StartReport> {
    this.#supervisor.mustBeOpen();
    const cells =
      profile === undefined
        ? (names ?? [...this.#cells.keys()]).map((name) => this.#cell(name))
        : this.#membersOf(profile);
    const faults = this.#checkedGraph().faults;
    if (this.config.strictRegistryValidation && faults[0] !== undefined) throw graphError(faults[0]);
    for (const { message } of faults) this.#options.log.error("a daemon cannot start", { error: message });
    await this.#supervisor.startAll(cells, actor);
    const down = cells.filter(({ phase }) => phase !== "running").map(({ spec }) => spec.name);
    const status = this.getStatus();
    return {
      started: cells.filter(({ phase }) => phase === "running").map(({ spec }) => spec.name),
      notStarted: Object.fromEntries(
        down.map((name) => {
          const { paused, permanentFailure, lastError, state } = status[name]!;
          return [name, permanentFailure?.reason ?? paused ?? lastError ?? state];
        }),
      ),
    };
  }

  /** Ends one daemon, after those that depend on it: they pause until it is started again. True once it has ended. */
  stop(name: string, { actor = OPERATOR }: { actor?: string } = {}): Promise<boolean> {
    return this.#supervisor.stop(this.#cell(name), actor);
  }

  /**
   * Keeps a daemon from running, with a reason that shows in its status, until it is resumed, also in later processes.
   * Holds of different names stand beside each other; the same one again only changes its reason.
   */
  pause(name: string, reason: string, { actor = OPERATOR, hold = OPERATOR_HOLD }: PauseOptions = {}): void {
    this.#supervisor.hold(this.#cell(name), hold, reason, actor);
  }

  /** Lifts one hold, that of the operator unless another is named, or all of them. Returns those that are left. */
  resume(name: string, { actor = OPERATOR, hold = OPERATOR_HOLD, all = false }: ResumeOptions = {}): readonly Hold[] {
    const cell = this.#cell(name);
    this.#supervisor.release(cell, all ? null : hold, actor);
    return cell.book.holds;
  }

  /** What holds each registered daemon. */
  holds(): ReadonlyMap<string, readonly Hold[]> {
    return new Map([...this.#cells].map(([name, { book }]) => [name, book.holds]));
  }

  /** Ends all of them, dependents first, and for good. Doing it twice is doing it once, only that `force` may come later. */
  async shutdown({
    timeoutMs = this.config.shutdownTimeoutMs,
    force = false,
  }: ShutdownOptions = {}): Promise<ShutdownReport> {
    return this.#supervisor.close(timeoutMs, force);
  }

  getStatus(): Record<string, DaemonInfo> {
    const views = new Map([...this.#cells].map(([name, cell]) => [name, viewOf(cell)]));
    return Object.fromEntries(
      [...this.#cells].map(([name, cell]) => [
        name,
        infoOf(cell, pathToTrouble(views, name), this.#options.clock, this.config),
      ]),
    );
  }

  isRunning(name: string): boolean {
    return this.#cell(name).phase === "running";
  }

  /** What the last health check of each daemon found. */
  getAllDaemonHealth(): Record<string, DaemonHealthReport> {
    return Object.fromEntries([...this.#cells].map(([name, { health }]) => [name, health]));
  }

  /**
   * Whether this process is worth keeping: no critical daemon is given up or found dead. One that starts or restarts is
   * being dealt with and does not count against it.
   */
  livenessProbe(): boolean {
    return [...this.#cells.values()].every(
      ({ spec, wanted, book, misses, leftFailed }) =>
        !spec.critical ||
        !wanted ||
        (book.permanentFailure === null && !leftFailed && misses < this.config.livenessFailures),
    );
  }

  /** Whether all that is wanted is ready. What is held, and what stands on it, is meant not to run and does not count. */
  readinessProbe(): boolean {
    const held = new Set<string>();
    for (const name of this.#checkedGraph().order) {
      const { spec, book } = this.#cells.get(name)!;
      if (book.holds.length > 0 || spec.dependsOn.some((on) => held.has(on))) held.add(name);
    }
    return [...this.#cells].every(([name, { wanted, phase }]) => !wanted || phase === "running" || held.has(name));
  }

  isPermanentlyFailed(name: string): boolean {
    return this.#cell(name).book.permanentFailure !== null;
  }

  /** The explicit reset: its restarts count from zero again, and if it is wanted it starts. False if there was nothing to reset. */
  clearPermanentlyFailed(name: string, { actor = OPERATOR }: { actor?: string } = {}): boolean {
    return this.#supervisor.reset(this.#cell(name), actor);
  }

  /** What was done and what led to it, oldest first; the last thousand. */
  actions(): readonly ActionRow[] {
    return this.#ledger.actions();
  }

  /** Resolves when all that was done so far is written down; false if that was not possible in time. */
  flush(timeoutMs: number): Promise<boolean> {
    return this.#supervisor.flush(timeoutMs);
  }

  /** What `/status` shows. */
  report(): Record<string, unknown>[] {
    return Object.values(this.getStatus()).map((info) => ({
      name: info.name,
      state: info.state,
      critical: info.critical,
      wanted: info.wanted,
      depends_on: info.dependsOn,
      paused: info.paused,
      holds: info.holds.map(({ since, ...hold }) => ({ ...hold, since: since / 1_000 })),
      started_at: info.startedAt === null ? null : info.startedAt / 1_000,
      uptime_seconds: info.uptimeMs / 1_000,
      restarts: info.restarts,
      max_restarts: info.maxRestarts,
      restart_at: info.restartAt === null ? null : info.restartAt / 1_000,
      last_error: info.lastError,
      permanently_failed: info.permanentFailure?.reason ?? null,
      health: { status: info.health.status, message: info.health.message },
      conditions: info.conditions.map(({ lastTransitionAt, ...condition }) => ({
        ...condition,
        last_transition_at: lastTransitionAt / 1_000,
      })),
    }));
  }

  #cell(name: string): Cell {
    const resolved = resolveDaemon(name, new Set(this.#cells.keys()));
    if (resolved.notice !== null && !this.#told.has(name)) {
      this.#told.add(name);
      this.#options.log.warn(resolved.notice);
    }
    const cell = this.#cells.get(resolved.name);
    assert(cell !== undefined, "a resolved daemon is registered");
    return cell;
  }

  #checkedGraph(): DependencyGraph {
    if (this.#graph === undefined) {
      const graph = dependencyGraph([...this.#cells.values()].map(({ spec }) => spec));
      for (const [name, cell] of this.#cells) cell.broken = graph.faultOf(name);
      this.#graph = graph;
    }
    return this.#graph;
  }

  #membersOf(profile: string): Cell[] {
    const members = this.#profiles.get(profile);
    if (members === undefined)
      throw new OperatingError("UNKNOWN_PROFILE", `there is no profile '${profile}'`, {
        hint: `There are: ${[...this.#profiles.keys()].join(", ")}.`,
      });
    const cells = [...new Set(members.map((name) => this.#cell(name)))];
    const all = [...this.#cells.values()];
    const up = new Set(all.filter(({ phase }) => phase === "running").map(({ spec }) => spec.name));
    const [fault] = profileFaults(
      profile,
      cells.map(({ spec }) => spec.name),
      all.map(({ spec }) => spec),
      up,
    );
    if (fault !== undefined) throw graphError(fault);
    return cells;
  }
}

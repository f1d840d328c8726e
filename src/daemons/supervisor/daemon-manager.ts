import { assert, defined, OperatingError, type Random } from "../../kernel/index.ts";
import { type DaemonManagerConfig, daemonManagerDefaults, type Surroundings } from "./config.ts";
import type { DaemonHealthReport, DaemonInfo, DaemonOptions, DaemonSpec } from "./daemon.ts";
import { canonicalDaemonName, resolveDaemon } from "./daemon-names.ts";
import { type DependencyGraph, dependencyGraph, graphError, profileFaults } from "./dependency-graph.ts";
import { type Hold, OPERATOR_HOLD } from "./holds.ts";
import { pathToTrouble } from "./plan.ts";
import { type RestartPolicy, restartPolicy } from "./restart-policy.ts";
import { type Daemon, infoOf, stateOf, supervisedDaemon, viewsOf } from "./supervised-daemon.ts";
import {
  type ActionRow,
  type DaemonRecord,
  memorySupervisionStore,
  type SupervisionStore,
} from "./supervision-store.ts";
import { Supervisor } from "./supervisor.ts";

export interface DaemonManagerOptions extends Omit<Surroundings, "config" | "store"> {
  readonly random: Random;
  readonly config?: Partial<DaemonManagerConfig>;
  /** Where records are kept and events are said; in memory unless given. */
  readonly store?: SupervisionStore;
  /** Names of daemons by profile, besides the profiles that daemons name themselves. */
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
  /** Time for all to end in order; then they are forced. With `force` it is the time until it is over, whoever still runs. */
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
  readonly #store: SupervisionStore;
  readonly #supervisor: Supervisor;
  readonly #profiles: Map<string, readonly string[]>;
  readonly #daemons = new Map<string, Daemon>();
  readonly #records: ReadonlyMap<string, DaemonRecord>;
  /** Deprecated names that were pointed out. */
  readonly #noticed = new Set<string>();
  #graph: DependencyGraph | undefined;

  constructor(options: DaemonManagerOptions) {
    this.#options = options;
    this.config = { ...daemonManagerDefaults, ...options.config };
    this.#store = options.store ?? memorySupervisionStore();
    this.#profiles = new Map(Object.entries(options.profiles ?? {}));
    this.#records = this.#store.records();
    this.#supervisor = new Supervisor({
      policy: restartPolicy,
      ...options,
      config: this.config,
      store: this.#store,
      daemons: this.#daemons,
      graph: () => this.#checkedGraph(),
    });
  }

  /** Puts a daemon under supervision. Its dependencies may be registered later, but before it starts. */
  registerFactory(options: DaemonOptions): void {
    this.#supervisor.mustBeOpen();
    const { config } = this;
    const known = this.#specs();
    const name = canonicalDaemonName(options.daemonType, known);
    if (!NAME.test(name))
      throw OperatingError.invalid("INVALID_DAEMON", `'${name}' is not a valid name for a daemon`, {
        hint: "Letters, digits and _ . - are allowed, at most 100 characters.",
      });
    if (this.#daemons.has(name))
      throw OperatingError.invalid("INVALID_DAEMON", `there is a daemon '${name}' already`, {
        hint: "Each daemon is registered once; several daemon types may mean the same one.",
      });
    const { daemonType: _, dependsOn = [], critical = false, ...given } = options;
    const { criticalDaemonHealthIntervalMs, readyAfterMs, startTimeoutMs, startupGraceMs } = config;
    const spec: DaemonSpec = {
      name,
      daemonTypes: [],
      dependsOn: [...new Set(dependsOn.map((on) => canonicalDaemonName(on, known)))],
      healthCheckIntervalMs: critical ? criticalDaemonHealthIntervalMs : config.healthCheckIntervalMs,
      autoRestart: true,
      maxRestarts: config.maxRestartAttempts,
      critical,
      readyAfterMs,
      startTimeoutMs,
      startupGraceMs,
      profiles: [],
      ...(defined(given) as typeof given),
    };
    for (const profile of spec.profiles)
      this.#profiles.set(profile, [...(this.#profiles.get(profile) ?? []), spec.name]);
    const daemon = supervisedDaemon(spec, this.#records.get(name));
    this.#daemons.set(name, daemon);
    this.#graph = undefined;
    this.#supervisor.adopt(daemon);
    if (config.autoStart) this.#supervisor.want([daemon], OPERATOR);
  }

  /**
   * Starts one daemon. True once it is ready; false when it is not within reach: a dependency is not ready (in time), or
   * its first try failed. In the last case it stays wanted and is tried again within its budget.
   */
  async start(name: string, { waitForDeps = false, actor = OPERATOR }: StartOptions = {}): Promise<boolean> {
    const daemon = this.#find(name);
    const fault = this.#checkedGraph().faultOf(daemon.spec.name);
    if (fault !== undefined) throw graphError(fault);
    this.#supervisor.mustBeOpen();
    const given = daemon.record.permanentFailure;
    if (given !== null)
      throw OperatingError.conflict("DAEMON_GIVEN_UP", `'${daemon.spec.name}' is permanently failed: ${given.reason}`, {
        hint: "Fix the cause, then reset it: clearPermanentlyFailed().",
      });
    const asked = name.toUpperCase();
    if (daemon.spec.daemonTypes.includes(asked)) daemon.spec.startedAs?.(asked);
    return this.#supervisor.start(daemon, waitForDeps, actor);
  }

  /** Starts all that are registered, or those of a profile or a list, each as soon as its dependencies are ready. */
  async startAll({ profile, names, actor = OPERATOR }: StartAllOptions = {}): Promise<StartReport> {
    this.#supervisor.mustBeOpen();
    const daemons =
      profile === undefined
        ? (names ?? [...this.#daemons.keys()]).map((name) => this.#find(name))
        : this.#membersOf(profile);
    const faults = this.#checkedGraph().faults;
    if (this.config.strictRegistryValidation && faults[0] !== undefined) throw graphError(faults[0]);
    for (const { message } of faults) this.#options.log.error("a daemon cannot start", { error: message });
    await this.#supervisor.startAll(daemons, actor);
    const down = daemons.filter(({ phase }) => phase !== "running").map(({ spec }) => spec.name);
    const status = this.getStatus();
    return {
      started: daemons.filter(({ phase }) => phase === "running").map(({ spec }) => spec.name),
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
    return this.#supervisor.stop(this.#find(name), actor);
  }

  /**
   * Keeps a daemon from running, with a reason that shows in its status, until it is resumed, also in later processes.
   * Holds of different names stand beside each other; the same one again only changes its reason.
   */
  pause(name: string, reason: string, { actor = OPERATOR, hold = OPERATOR_HOLD }: PauseOptions = {}): void {
    this.#supervisor.hold(this.#find(name), hold, reason, actor);
  }

  /** Lifts one hold, that of the operator unless another is named, or all of them. Returns those that are left. */
  resume(name: string, { actor = OPERATOR, hold = OPERATOR_HOLD, all = false }: ResumeOptions = {}): readonly Hold[] {
    const daemon = this.#find(name);
    this.#supervisor.release(daemon, all ? null : hold, actor);
    return daemon.record.holds;
  }

  /** What holds each registered daemon. */
  holds(): ReadonlyMap<string, readonly Hold[]> {
    return new Map([...this.#daemons].map(([name, { record }]) => [name, record.holds]));
  }

  /** Ends all of them, dependents first, and for good. Doing it twice is doing it once, only that `force` may come later. */
  async shutdown({
    timeoutMs = this.config.shutdownTimeoutMs,
    force = false,
  }: ShutdownOptions = {}): Promise<ShutdownReport> {
    return this.#supervisor.close(timeoutMs, force);
  }

  getStatus(): Record<string, DaemonInfo> {
    const views = viewsOf(this.#daemons);
    return Object.fromEntries(
      [...this.#daemons].map(([name, daemon]) => [
        name,
        infoOf(daemon, pathToTrouble(views, name), this.#options.clock, this.config),
      ]),
    );
  }

  isRunning(name: string): boolean {
    return this.#find(name).phase === "running";
  }

  /** What the last health check of each daemon found, and the state that it is in. */
  getAllDaemonHealth(): Record<string, DaemonHealthReport & Pick<DaemonInfo, "state">> {
    return Object.fromEntries(
      [...this.#daemons].map(([name, daemon]) => [name, { ...daemon.health, state: stateOf(daemon) }]),
    );
  }

  /**
   * Whether this process is worth keeping: no critical daemon is given up or found dead. One that starts or restarts is
   * being dealt with and does not count against it.
   */
  livenessProbe(): boolean {
    return [...this.#daemons.values()].every(
      ({ spec, wanted, record, misses, leftFailed }) =>
        !spec.critical ||
        !wanted ||
        (record.permanentFailure === null && !leftFailed && misses < this.config.livenessFailures),
    );
  }

  /** Whether all that is wanted is ready. What is held, and what stands on it, is meant not to run and does not count. */
  readinessProbe(): boolean {
    const held = new Set<string>();
    for (const name of this.#checkedGraph().order) {
      const { spec, record } = this.#daemons.get(name)!;
      if (record.holds.length > 0 || spec.dependsOn.some((on) => held.has(on))) held.add(name);
    }
    return [...this.#daemons].every(([name, { wanted, phase }]) => !wanted || phase === "running" || held.has(name));
  }

  isPermanentlyFailed(name: string): boolean {
    return this.#find(name).record.permanentFailure !== null;
  }

  /** The explicit reset: its restarts count from zero again, and if it is wanted it starts. False if there was nothing to reset. */
  clearPermanentlyFailed(name: string, { actor = OPERATOR }: { actor?: string } = {}): boolean {
    return this.#supervisor.reset(this.#find(name), actor);
  }

  /** What was done and what led to it, oldest first; the last thousand. */
  actions(): readonly ActionRow[] {
    return this.#store.actions();
  }

  /** Resolves when all that was done so far is written down; false if that was not possible in time. */
  flush(timeoutMs: number): Promise<boolean> {
    return this.#supervisor.flush(timeoutMs);
  }

  /** What `/status` shows; instants are milliseconds. */
  report() {
    return Object.values(this.getStatus()).map((info) => ({
      name: info.name,
      state: info.state,
      critical: info.critical,
      wanted: info.wanted,
      depends_on: info.dependsOn,
      paused: info.paused,
      waits_for: info.waitsFor,
      holds: info.holds,
      started_at: info.startedAt,
      uptime_seconds: info.uptimeMs / 1_000,
      restarts: info.restarts,
      max_restarts: info.maxRestarts,
      restart_at: info.restartAt,
      last_error: info.lastError,
      permanently_failed: info.permanentFailure?.reason ?? null,
      health: { status: info.health.status, message: info.health.message },
      conditions: info.conditions.map(({ lastTransitionAt, ...condition }) => ({
        ...condition,
        last_transition_at: lastTransitionAt,
      })),
    }));
  }

  /** The name of the daemon that a name or a daemon type means, in any spelling. */
  nameOf(spelling: string): string {
    return resolveDaemon(spelling, this.#specs()).name;
  }

  #specs(): DaemonSpec[] {
    return [...this.#daemons.values()].map(({ spec }) => spec);
  }

  #find(name: string): Daemon {
    const resolved = resolveDaemon(name, this.#specs());
    if (resolved.notice !== null && !this.#noticed.has(name)) {
      this.#noticed.add(name);
      this.#options.log.warn(resolved.notice);
    }
    const daemon = this.#daemons.get(resolved.name);
    assert(daemon !== undefined, "a resolved daemon is registered");
    return daemon;
  }

  #checkedGraph(): DependencyGraph {
    if (this.#graph === undefined) {
      const graph = dependencyGraph(this.#specs());
      for (const [name, daemon] of this.#daemons) daemon.broken = graph.faultOf(name);
      this.#graph = graph;
    }
    return this.#graph;
  }

  #membersOf(profile: string): Daemon[] {
    const members = this.#profiles.get(profile);
    if (members === undefined)
      throw OperatingError.notFound("UNKNOWN_PROFILE", `there is no profile '${profile}'`, {
        hint: `There are: ${[...this.#profiles.keys()].join(", ")}.`,
      });
    const daemons = [...new Set(members.map((name) => this.#find(name)))];
    const up = [...this.#daemons].flatMap(([name, { phase }]) => (phase === "running" ? [name] : []));
    const [fault] = profileFaults(
      profile,
      daemons.map(({ spec }) => spec.name),
      this.#specs(),
      new Set(up),
    );
    if (fault !== undefined) throw graphError(fault);
    return daemons;
  }
}

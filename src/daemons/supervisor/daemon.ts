import type { Clock, Log } from "../../kernel/index.ts";
import type { UnitHealth } from "../health.ts";
import type { Condition } from "./conditions.ts";
import type { Hold } from "./holds.ts";

/** The states of the Python system's `DaemonState`; `degraded` is one that runs, but not as it should. */
export const DaemonState = Object.freeze({
  STOPPED: "stopped",
  STARTING: "starting",
  RUNNING: "running",
  STOPPING: "stopping",
  FAILED: "failed",
  RESTARTING: "restarting",
  IMPORT_FAILED: "import_failed",
  DEGRADED: "degraded",
});
export type DaemonState = (typeof DaemonState)[keyof typeof DaemonState];
export const DAEMON_STATES = Object.values(DaemonState);

/** What a daemon's factory is given. */
export interface DaemonContext {
  readonly name: string;
  /** Aborts when the daemon is to end; the factory's promise then settles. */
  readonly signal: AbortSignal;
  /** Aborts when the time for an orderly end is over: drop everything, kill children. */
  readonly forced: AbortSignal;
  /** From now on dependents may start. Calling it again does nothing. */
  ready(): void;
  /** 1 for the first run in this process. */
  readonly run: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** A judgement of health. `alive: false` says that only a restart helps; unless said, `stopped` means just that. */
export interface DaemonHealth extends UnitHealth {
  readonly alive?: boolean;
}

/** What is registered with the supervisor: `register_factory` of the Python system, with what it left unsaid. */
export interface DaemonOptions {
  /** A `DaemonType`, the name of a unit, or a name of your own. */
  readonly daemonType: string;
  /** The daemon types of the Python system that mean it, besides its name. */
  readonly daemonTypes?: readonly string[];
  /** Runs the daemon and settles when it has ended. Returning without being asked means that its work is done. */
  readonly factory: (context: DaemonContext) => Promise<void> | void;
  readonly dependsOn?: readonly string[];
  readonly healthCheckIntervalMs?: number;
  readonly autoRestart?: boolean;
  readonly maxRestarts?: number;
  /** Its health is asked more often, decides liveness, and its restarts are never held back by a cascade. */
  readonly critical?: boolean;
  readonly healthCheck?: () => DaemonHealth | Promise<DaemonHealth>;
  /** Told when somebody starts it under one of its daemon types. */
  readonly startedAs?: (daemonType: string) => void;
  /** Asked while it starts; the daemon may call `ready()` instead. */
  readonly isReady?: () => boolean;
  /** Counts as ready after so long without a word; null if it always says so itself. */
  readonly readyAfterMs?: number | null;
  readonly startTimeoutMs?: number;
  readonly startupGraceMs?: number;
  /** Profiles that hold it, besides those that name it. */
  readonly profiles?: readonly string[];
}

/** The options, filled in and with canonical names. */
export interface DaemonSpec
  extends Required<Omit<DaemonOptions, "daemonType" | "healthCheck" | "isReady" | "startedAs">>,
    Pick<DaemonOptions, "healthCheck" | "isReady" | "startedAs"> {
  readonly name: string;
}

export interface PermanentFailure {
  readonly kind: "restarts" | "hung" | "import";
  readonly at: number;
  readonly reason: string;
  readonly error: string | null;
  readonly restarts: number;
}

/** What `getStatus` says of one daemon. Times are milliseconds since the epoch. */
export interface DaemonInfo {
  readonly name: string;
  readonly state: DaemonState;
  readonly critical: boolean;
  readonly wanted: boolean;
  readonly dependsOn: readonly string[];
  /** Why it is kept from running although it is wanted; null when nothing does. */
  readonly paused: string | null;
  /** The daemon at the root of that, where it waits for another one to run. */
  readonly waitsFor: string | null;
  readonly startedAt: number | null;
  readonly uptimeMs: number;
  /** Restarts on its own account that count at the moment. */
  readonly restarts: number;
  readonly maxRestarts: number;
  /** When it is started again, while it is restarting. */
  readonly restartAt: number | null;
  readonly lastError: string | null;
  readonly permanentFailure: PermanentFailure | null;
  readonly health: DaemonHealthReport;
  readonly conditions: readonly Condition[];
  /** What keeps it from running, oldest first; also while nobody wants it. */
  readonly holds: readonly Hold[];
}

/** `HealthCheckResult` of the Python system, and when it was found. */
export interface DaemonHealthReport {
  readonly healthy: boolean;
  readonly status: UnitHealth["status"];
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly checkedAt: number | null;
}

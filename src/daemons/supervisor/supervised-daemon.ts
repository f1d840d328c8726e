import type { Clock, Moment } from "../../kernel/index.ts";
import type { DaemonManagerConfig } from "./config.ts";
import type { DaemonHealthReport, DaemonInfo, DaemonSpec, DaemonState } from "./daemon.ts";
import type { DaemonRun } from "./daemon-run.ts";
import type { GraphFault } from "./dependency-graph.ts";
import { heldBecause } from "./holds.ts";
import type { DaemonView, Phase } from "./plan.ts";
import { recentRestarts } from "./restart-policy.ts";
import { type DaemonRecord, emptyRecord } from "./supervision-store.ts";

/** Why a run is being ended. */
export interface Ending {
  readonly reason: string;
  /** The daemon at which the trouble began, if it is not this one. */
  readonly cause: string | null;
  readonly actor: string;
  /** It ends because it failed, not because it is unwanted. */
  readonly failed: boolean;
}

/** All that the supervisor knows of one daemon. Only the supervisor changes it. */
export interface Daemon {
  readonly spec: DaemonSpec;
  record: DaemonRecord;
  broken: GraphFault | undefined;
  wanted: boolean;
  wantedBy: string;
  phase: Phase;
  run: DaemonRun | undefined;
  /** A run that was given up and has not ended. While there is one, no other begins. */
  zombie: DaemonRun | undefined;
  ending: Ending | undefined;
  watch: { stop(): void } | undefined;
  runs: number;
  failures: number;
  /** Health checks in a row that found it dead. */
  misses: number;
  health: DaemonHealthReport;
  /** The next run is a restart on its own account. */
  owes: boolean;
  /** On the monotonic clock. */
  notBefore: number;
  /** When it became ready; null while it is not. */
  started: Moment | null;
  lastError: string | null;
  /** It failed and may not be restarted by itself. */
  leftFailed: boolean;
}

export const unchecked: DaemonHealthReport = {
  healthy: false,
  status: "stopped",
  message: "not running",
  details: {},
  checkedAt: null,
};

export const supervisedDaemon = (spec: DaemonSpec, record: DaemonRecord = emptyRecord): Daemon => ({
  spec,
  record,
  broken: undefined,
  wanted: false,
  wantedBy: "nobody",
  phase: "down",
  run: undefined,
  zombie: undefined,
  ending: undefined,
  watch: undefined,
  runs: 0,
  failures: 0,
  misses: 0,
  health: unchecked,
  owes: false,
  notBefore: Number.NEGATIVE_INFINITY,
  started: null,
  lastError: null,
  leftFailed: false,
});

export const isBarred = (daemon: Daemon): boolean =>
  daemon.record.holds.length > 0 ||
  daemon.record.permanentFailure !== null ||
  daemon.leftFailed ||
  daemon.zombie !== undefined ||
  daemon.broken !== undefined;

export const viewOf = (daemon: Daemon): DaemonView => {
  const { spec, phase, wanted, notBefore } = daemon;
  return { name: spec.name, dependsOn: spec.dependsOn, phase, wanted, barred: isBarred(daemon), notBefore };
};

export const viewsOf = (daemons: ReadonlyMap<string, Daemon>): ReadonlyMap<string, DaemonView> =>
  new Map([...daemons].map(([name, daemon]) => [name, viewOf(daemon)]));

export function stateOf(daemon: Daemon): DaemonState {
  const { phase, record } = daemon;
  if (phase === "running") return daemon.health.status === "running" ? "running" : "degraded";
  if (phase !== "down") return phase;
  if (record.permanentFailure !== null) return record.permanentFailure.kind === "import" ? "import_failed" : "failed";
  if (daemon.leftFailed) return "failed";
  return daemon.wanted && daemon.owes && !isBarred(daemon) ? "restarting" : "stopped";
}

interface Pause {
  readonly reason: string;
  /** The root of what it waits for, where that is all that keeps it down. */
  readonly waitsFor: string | null;
}

const pause = (reason: string, waitsFor: string | null = null): Pause => ({ reason, waitsFor });

/** Why a daemon that is wanted does not run; null when it does, or when only its own failure keeps it down. */
export function pausedBecause(daemon: Daemon, path: readonly string[]): Pause | null {
  if (!daemon.wanted || daemon.phase === "running" || daemon.phase === "starting") return null;
  const held = heldBecause(daemon.record.holds);
  if (held !== null) return pause(held);
  if (daemon.broken !== undefined) return pause(daemon.broken.message);
  if (daemon.zombie !== undefined) return pause("an earlier run of it has not ended");
  const [root] = path.slice(1).slice(-1);
  return root === undefined ? null : pause(`waits for '${root}': ${path.join(" -> ")}`, root);
}

export function infoOf(
  daemon: Daemon,
  path: readonly string[],
  clock: Clock,
  { restartWindowMs }: Pick<DaemonManagerConfig, "restartWindowMs">,
): DaemonInfo {
  const now = clock.now();
  const state = stateOf(daemon);
  const paused = pausedBecause(daemon, path);
  return {
    name: daemon.spec.name,
    state,
    critical: daemon.spec.critical,
    wanted: daemon.wanted,
    dependsOn: daemon.spec.dependsOn,
    paused: paused?.reason ?? null,
    waitsFor: paused?.waitsFor ?? null,
    startedAt: daemon.started?.at ?? null,
    uptimeMs: daemon.started?.agoMs() ?? 0,
    restarts: recentRestarts(daemon.record.restarts, restartWindowMs, now).length,
    maxRestarts: daemon.spec.maxRestarts,
    restartAt: state === "restarting" ? now + Math.max(0, daemon.notBefore - clock.monotonic()) : null,
    lastError: daemon.lastError,
    permanentFailure: daemon.record.permanentFailure,
    health: daemon.health,
    conditions: daemon.record.conditions,
    holds: daemon.record.holds,
  };
}

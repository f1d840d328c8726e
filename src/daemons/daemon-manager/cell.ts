import type { Clock } from "../../kernel/index.ts";
import { type Condition, withCondition } from "./conditions.ts";
import type { DaemonManagerConfig } from "./config.ts";
import type { DaemonHealthReport, DaemonInfo, DaemonSpec, DaemonState } from "./daemon.ts";
import type { GraphFault } from "./dependency-graph.ts";
import { heldBecause } from "./holds.ts";
import { type Book, emptyBook } from "./ledger.ts";
import type { DaemonView, Phase } from "./plan.ts";
import { recentRestarts } from "./restart-policy.ts";
import type { DaemonRun } from "./run.ts";

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
export interface Cell {
  readonly spec: DaemonSpec;
  book: Book;
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
  /** When it became ready, in milliseconds since the epoch; null while it is not. */
  startedAt: number | null;
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

export const createCell = (spec: DaemonSpec, book: Book = emptyBook): Cell => ({
  spec,
  book,
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
  startedAt: null,
  lastError: null,
  leftFailed: false,
});

export const isBarred = (cell: Cell): boolean =>
  cell.book.holds.length > 0 ||
  cell.book.permanentFailure !== null ||
  cell.leftFailed ||
  cell.zombie !== undefined ||
  cell.broken !== undefined;

export const viewOf = (cell: Cell): DaemonView => ({
  name: cell.spec.name,
  dependsOn: cell.spec.dependsOn,
  phase: cell.phase,
  wanted: cell.wanted,
  barred: isBarred(cell),
  notBefore: cell.notBefore,
});

export function stateOf(cell: Cell): DaemonState {
  const { phase, book } = cell;
  if (phase === "running") return cell.health.status === "running" ? "running" : "degraded";
  if (phase !== "down") return phase;
  if (book.permanentFailure !== null) return book.permanentFailure.kind === "import" ? "import_failed" : "failed";
  if (cell.leftFailed) return "failed";
  return cell.wanted && cell.owes && !isBarred(cell) ? "restarting" : "stopped";
}

/** Why a daemon that is wanted does not run; null when it does, or when only its own failure keeps it down. */
export function pausedBecause(cell: Cell, path: readonly string[]): string | null {
  if (!cell.wanted || cell.phase === "running" || cell.phase === "starting") return null;
  const held = heldBecause(cell.book.holds);
  if (held !== null) return held;
  if (cell.broken !== undefined) return cell.broken.message;
  if (cell.zombie !== undefined) return "an earlier run of it has not ended";
  return path.length > 1 ? `waits for '${path.at(-1)}': ${path.join(" -> ")}` : null;
}

/** The book with one more condition; the same book when nothing about it is new. */
export function noteCondition(
  book: Book,
  [type, status, reason, message]: readonly [Condition["type"], Condition["status"], string, string],
  now: number,
): Book {
  const conditions = withCondition(book.conditions, { type, status, reason, message }, now);
  return conditions === book.conditions ? book : { ...book, conditions };
}

export function infoOf(
  cell: Cell,
  path: readonly string[],
  clock: Clock,
  { restartWindowMs }: Pick<DaemonManagerConfig, "restartWindowMs">,
): DaemonInfo {
  const now = clock.now();
  const state = stateOf(cell);
  return {
    name: cell.spec.name,
    state,
    critical: cell.spec.critical,
    wanted: cell.wanted,
    dependsOn: cell.spec.dependsOn,
    paused: pausedBecause(cell, path),
    startedAt: cell.startedAt,
    uptimeMs: cell.startedAt === null ? 0 : Math.max(0, now - cell.startedAt),
    restarts: recentRestarts(cell.book.restarts, restartWindowMs, now).length,
    maxRestarts: cell.spec.maxRestarts,
    restartAt: state === "restarting" ? now + Math.max(0, cell.notBefore - clock.monotonic()) : null,
    lastError: cell.lastError,
    permanentFailure: cell.book.permanentFailure,
    health: cell.health,
    conditions: cell.book.conditions,
    holds: cell.book.holds,
  };
}

import type { Clock, Log } from "../../kernel/index.ts";
import { type Cell, type Ending, noteCondition, stateOf } from "./cell.ts";
import { type Condition, sameConditions } from "./conditions.ts";
import type { DaemonManagerConfig } from "./config.ts";
import type { DaemonState, PermanentFailure } from "./daemon.ts";
import { heldBecause } from "./holds.ts";
import type { ActionRow, SupervisionLedger, SupervisorEvent } from "./ledger.ts";
import { createRecorder, type Recorder } from "./recorder.ts";

interface ChronicleOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: string;
  readonly pid: number;
  readonly config: DaemonManagerConfig;
  readonly ledger: SupervisionLedger;
}

/** Who acts when nobody asked. */
export const SELF = "supervisor";
export const MOST_TEXT = 2_000;

const FAILURE_WORDS: Readonly<Record<PermanentFailure["kind"], string>> = {
  restarts: "RestartsSpent",
  hung: "Hung",
  import: "ImportFailed",
};

/** Tells what happens to daemons: a condition in the book, an audit row, an event, a line in the log. It decides nothing. */
export class Chronicle {
  readonly #o: ChronicleOptions;
  readonly #recorder: Recorder;

  constructor(options: ChronicleOptions) {
    this.#o = options;
    this.#recorder = createRecorder(options);
  }

  condition(cell: Cell, ...condition: [Condition["type"], Condition["status"], string, string]): void {
    const before = cell.book;
    cell.book = noteCondition(before, condition, this.#o.clock.now());
    if (!sameConditions(before.conditions, cell.book.conditions)) this.save(cell);
  }

  act(cell: Cell, action: ActionRow["action"], reason: string, cause: string | null, actor: string): void {
    const at = this.#o.clock.now();
    this.#recorder.action({ at, daemon: cell.spec.name, action, reason: reason.slice(0, MOST_TEXT), cause, actor });
  }

  /** A hold came or went: in the book, so that it outlives the process, and as a condition that says all reasons. */
  holds(cell: Cell, action: "held" | "released", reason: string, actor: string): void {
    const held = heldBecause(cell.book.holds);
    if (held === null) this.condition(cell, "Held", "false", "NotHeld", "");
    else this.condition(cell, "Held", "true", "Held", held);
    this.save(cell);
    this.act(cell, action, reason, null, actor);
    this.#status(cell, stateOf(cell), `${action}: ${reason}`);
  }

  save(cell: Cell): void {
    this.#recorder.book(cell.spec.name, cell.book);
  }

  started(cell: Cell): void {
    const restarts = cell.book.restarts.length;
    this.condition(cell, "Ready", "true", "Running", "");
    this.act(cell, "started", cell.runs > 1 ? `run ${cell.runs}` : "", null, cell.wantedBy);
    this.#say({ type: "DAEMON_STARTED", payload: { ...this.#about(cell), pid: this.#o.pid, restarts } });
  }

  /** It ended because it was told to, or because its work is done. Before it was ready it had not started. */
  ended(cell: Cell, { reason, cause, actor }: Ending, startedAt: number | null): void {
    this.act(cell, "stopped", reason, cause, actor);
    if (startedAt === null) return;
    const uptime_seconds = Math.max(0, this.#o.clock.now() - startedAt) / 1_000;
    const payload = { ...this.#about(cell), reason: reason.slice(0, MOST_TEXT), uptime_seconds };
    this.#say({ type: "DAEMON_STOPPED", payload });
  }

  failed(cell: Cell, error: string, cause: string): void {
    this.#o.log.error("a daemon failed", { daemon: cell.spec.name, error: error.slice(0, MOST_TEXT), cause });
    this.act(cell, "failed", error, cause, cell.spec.name);
    this.#status(cell, "failed", cause === cell.spec.name ? error : `fell with ${cause}: ${error}`);
  }

  gaveUp(cell: Cell, { kind, reason, restarts }: PermanentFailure): void {
    const { name } = cell.spec;
    this.#o.log.error("a daemon is given up until it is reset", { daemon: name, reason });
    this.condition(cell, "PermanentlyFailed", "true", FAILURE_WORDS[kind], reason);
    this.save(cell);
    this.act(cell, "gave_up", reason, name, SELF);
    const payload = { ...this.#about(cell), restarts, reason, ...this.#error(cell) };
    this.#say({ type: "DAEMON_PERMANENTLY_FAILED", payload });
  }

  crashLoop(cell: Cell): void {
    const { crashLoopRestarts, crashLoopWindowMs, restartWindowMs } = this.#o.config;
    const restarts = cell.book.restarts.length;
    const reason = `${crashLoopRestarts} restarts within ${crashLoopWindowMs / 1_000} s`;
    this.act(cell, "crash_loop", reason, cell.spec.name, SELF);
    this.#say({
      type: "DAEMON_CRASH_LOOP_DETECTED",
      payload: {
        ...this.#about(cell),
        restarts,
        window_seconds: restartWindowMs / 1_000,
        max_restarts: cell.spec.maxRestarts,
        ...this.#error(cell),
      },
    });
  }

  cascade(cell: Cell): void {
    const { cascadeRestarts, cascadeWindowMs, cascadePauseMs } = this.#o.config;
    const error =
      `${cascadeRestarts} restarts within ${cascadeWindowMs / 1_000} s; ` +
      `daemons that are not critical wait for ${cascadePauseMs / 1_000} s`;
    this.#o.log.error(error);
    this.act(cell, "cascade_pause", error, null, SELF);
    const about = { component: "daemon_manager", error_code: "RESTART_CASCADE", severity: "error" } as const;
    this.#say({ type: "ERROR", payload: { ...about, error, node_id: this.#o.nodeId } });
  }

  reset(cell: Cell, reason: string, actor: string): void {
    this.condition(cell, "PermanentlyFailed", "false", "Reset", reason);
    this.save(cell);
    this.act(cell, "reset", reason, null, actor);
    this.#status(cell, stateOf(cell), `reset: ${reason}`, "failed");
  }

  flush(timeoutMs: number): Promise<boolean> {
    return this.#recorder.drain(timeoutMs);
  }

  /** Waits until all is written, and ends. */
  async close(timeoutMs: number): Promise<void> {
    if (!(await this.#recorder.drain(timeoutMs))) this.#o.log.error("the supervisor's last books were not written");
    this.#recorder.stop();
  }

  #about(cell: Cell) {
    return { daemon_name: cell.spec.name, node_id: this.#o.nodeId };
  }

  /** For what is neither a start nor an end. */
  #status(cell: Cell, daemon_state: DaemonState, reason: string, previous: DaemonState = stateOf(cell)): void {
    const states = { daemon_state, previous_daemon_state: previous };
    this.#say({
      type: "DAEMON_STATUS_CHANGED",
      payload: { ...this.#about(cell), ...states, reason: reason.slice(0, MOST_TEXT) },
    });
  }

  #error({ lastError }: Cell) {
    return lastError === null ? {} : { error: lastError };
  }

  #say(event: SupervisorEvent): void {
    if (this.#o.config.enableCoordinationWiring) this.#recorder.event(event);
  }
}

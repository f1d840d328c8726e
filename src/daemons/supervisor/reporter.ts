import type { Moment } from "../../kernel/index.ts";
import { MAX_TEXT } from "../limits.ts";
import { type ConditionStatus, type ConditionType, sameConditions, withCondition } from "./conditions.ts";
import type { Surroundings } from "./config.ts";
import type { DaemonState, PermanentFailure } from "./daemon.ts";
import { heldBecause } from "./holds.ts";
import { type Daemon, type Ending, stateOf } from "./supervised-daemon.ts";
import type { ActionRow, SupervisorEvent } from "./supervision-store.ts";
import { createWriteQueue, type WriteQueue } from "./write-queue.ts";

/** Who acts when nobody asked. */
export const SELF = "supervisor";

const FAILURE_WORDS: Readonly<Record<PermanentFailure["kind"], string>> = {
  restarts: "RestartsSpent",
  hung: "Hung",
  import: "ImportFailed",
};

/** Tells what happens to daemons: a condition in the record, an audit row, an event, a line in the log. It decides nothing. */
export class Reporter {
  readonly #o: Surroundings;
  readonly #queue: WriteQueue;

  constructor(options: Surroundings) {
    this.#o = options;
    this.#queue = createWriteQueue(options);
  }

  condition(daemon: Daemon, type: ConditionType, status: ConditionStatus, reason: string, message = ""): void {
    const before = daemon.record.conditions;
    const conditions = withCondition(before, { type, status, reason, message }, this.#o.clock.now());
    daemon.record = { ...daemon.record, conditions };
    if (!sameConditions(before, conditions)) this.save(daemon);
  }

  act(daemon: Daemon, action: ActionRow["action"], reason: string, cause: string | null, actor: string): void {
    const at = this.#o.clock.now();
    this.#queue.action({ at, daemon: daemon.spec.name, action, reason: reason.slice(0, MAX_TEXT), cause, actor });
  }

  /** A hold came or went: in the record, so that it outlives the process, and as a condition that says all reasons. */
  holds(daemon: Daemon, action: "held" | "released", reason: string, actor: string): void {
    const held = heldBecause(daemon.record.holds);
    if (held === null) this.condition(daemon, "Held", "false", "NotHeld");
    else this.condition(daemon, "Held", "true", "Held", held);
    this.save(daemon);
    this.act(daemon, action, reason, null, actor);
    this.#status(daemon, stateOf(daemon), `${action}: ${reason}`);
  }

  save(daemon: Daemon): void {
    this.#queue.record(daemon.spec.name, daemon.record);
  }

  started(daemon: Daemon): void {
    const restarts = daemon.record.restarts.length;
    this.condition(daemon, "Ready", "true", "Running");
    this.act(daemon, "started", daemon.runs > 1 ? `run ${daemon.runs}` : "", null, daemon.wantedBy);
    this.#emit({ type: "DAEMON_STARTED", payload: { ...this.#about(daemon), pid: this.#o.pid, restarts } });
  }

  /** It ended because it was told to, or because its work is done. Before it was ready it had not started. */
  ended(daemon: Daemon, { reason, cause, actor }: Ending, started: Moment | null): void {
    this.act(daemon, "stopped", reason, cause, actor);
    if (started === null) return;
    const uptime_seconds = started.agoMs() / 1_000;
    const payload = { ...this.#about(daemon), reason: reason.slice(0, MAX_TEXT), uptime_seconds };
    this.#emit({ type: "DAEMON_STOPPED", payload });
  }

  failed(daemon: Daemon, error: string, cause: string): void {
    this.#o.log.error("a daemon failed", { daemon: daemon.spec.name, error: error.slice(0, MAX_TEXT), cause });
    this.act(daemon, "failed", error, cause, daemon.spec.name);
    this.#status(daemon, "failed", cause === daemon.spec.name ? error : `fell with ${cause}: ${error}`);
  }

  gaveUp(daemon: Daemon, { kind, reason, restarts }: PermanentFailure): void {
    const { name } = daemon.spec;
    this.#o.log.error("a daemon has no restarts left; it stays down until somebody resets it", {
      daemon: name,
      reason,
    });
    this.condition(daemon, "PermanentlyFailed", "true", FAILURE_WORDS[kind], reason);
    this.save(daemon);
    this.act(daemon, "gave_up", reason, name, SELF);
    const payload = { ...this.#about(daemon), restarts, reason, ...this.#error(daemon) };
    this.#emit({ type: "DAEMON_PERMANENTLY_FAILED", payload });
  }

  crashLoop(daemon: Daemon): void {
    const { crashLoopRestarts, crashLoopWindowMs, restartWindowMs } = this.#o.config;
    const restarts = daemon.record.restarts.length;
    const reason = `${crashLoopRestarts} restarts within ${crashLoopWindowMs / 1_000} s`;
    this.act(daemon, "crash_loop", reason, daemon.spec.name, SELF);
    this.#emit({
      type: "DAEMON_CRASH_LOOP_DETECTED",
      payload: {
        ...this.#about(daemon),
        restarts,
        window_seconds: restartWindowMs / 1_000,
        max_restarts: daemon.spec.maxRestarts,
        ...this.#error(daemon),
      },
    });
  }

  cascade(daemon: Daemon): void {
    const { cascadeRestarts, cascadeWindowMs, cascadePauseMs } = this.#o.config;
    const error =
      `${cascadeRestarts} restarts within ${cascadeWindowMs / 1_000} s; ` +
      `daemons that are not critical wait for ${cascadePauseMs / 1_000} s`;
    this.#o.log.error(error);
    this.act(daemon, "cascade_pause", error, null, SELF);
    const about = { component: "daemon_manager", error_code: "RESTART_CASCADE", severity: "error" } as const;
    this.#emit({ type: "ERROR", payload: { ...about, error, node_id: this.#o.nodeId } });
  }

  reset(daemon: Daemon, reason: string, actor: string): void {
    this.condition(daemon, "PermanentlyFailed", "false", "Reset", reason);
    this.save(daemon);
    this.act(daemon, "reset", reason, null, actor);
    this.#status(daemon, stateOf(daemon), `reset: ${reason}`, "failed");
  }

  flush(timeoutMs: number): Promise<boolean> {
    return this.#queue.drain(timeoutMs);
  }

  /** Waits until all is written, and ends. */
  async close(timeoutMs: number): Promise<void> {
    if (!(await this.#queue.drain(timeoutMs))) this.#o.log.error("the last records of the supervisor were not stored");
    this.#queue.stop();
  }

  #about(daemon: Daemon) {
    return { daemon_name: daemon.spec.name, node_id: this.#o.nodeId };
  }

  /** For what is neither a start nor an end. */
  #status(daemon: Daemon, daemon_state: DaemonState, reason: string, previous: DaemonState = stateOf(daemon)): void {
    const states = { daemon_state, previous_daemon_state: previous };
    this.#emit({
      type: "DAEMON_STATUS_CHANGED",
      payload: { ...this.#about(daemon), ...states, reason: reason.slice(0, MAX_TEXT) },
    });
  }

  #error({ lastError }: Daemon) {
    return lastError === null ? {} : { error: lastError };
  }

  #emit(event: SupervisorEvent): void {
    if (this.#o.config.enableCoordinationWiring) this.#queue.event(event);
  }
}

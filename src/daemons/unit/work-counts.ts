import { messageOf } from "../../kernel/index.ts";
import { isStoreTrouble } from "../../router/index.ts";
import { type HealthState, standardHealth, type UnitHealth } from "../health.ts";
import { MAX_TEXT } from "../limits.ts";

/** The standard rule looks at so many of the last pieces of work, so that an old fault is forgotten and a new one shows. */
const REMEMBERED = 100;

/** Failures that are kept, so that one sees what repeats. */
const KEPT_ERRORS = 50;

export interface UnitError {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: "event" | "tick";
  readonly error: string;
}

/** What a unit has done since it started, counted once each piece of work has ended. */
export class WorkCounts {
  readonly done = { event: 0, tick: 0 };
  readonly failed = { event: 0, tick: 0 };
  /** When its loop last ended well, in milliseconds since the epoch. */
  lastTickAt: number | null = null;
  lastError: string | null = null;
  /** The last failures, oldest first. */
  readonly recentErrors: UnitError[] = [];
  #outcomes: ("done" | "failed" | "store refused")[] = [];

  succeed(kind: UnitError["kind"], at: number): void {
    this.done[kind] += 1;
    if (kind === "tick") this.lastTickAt = at;
    // What the store refused was no fault of the unit, and now the store takes its work again.
    this.#outcomes = this.#outcomes.filter((outcome) => outcome !== "store refused");
    this.#note("done");
  }

  fail(kind: UnitError["kind"], thrown: unknown, at: number): void {
    const error = messageOf(thrown).slice(0, MAX_TEXT);
    this.failed[kind] += 1;
    this.lastError = error;
    this.recentErrors.push({ at, kind, error });
    if (this.recentErrors.length > KEPT_ERRORS) this.recentErrors.shift();
    this.#note(isStoreTrouble(thrown) ? "store refused" : "failed");
  }

  health(): UnitHealth {
    const succeeded = this.#outcomes.filter((outcome) => outcome === "done").length;
    return standardHealth({ succeeded, failed: this.#outcomes.length - succeeded });
  }

  #note(outcome: "done" | "failed" | "store refused"): void {
    this.#outcomes.push(outcome);
    if (this.#outcomes.length > REMEMBERED) this.#outcomes.shift();
  }
}

/** One line of the runtime's report. */
export interface UnitStatus {
  readonly name: string;
  readonly status: HealthState;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Whether all that it hears reaches it. */
  readonly subscribed: boolean;
  readonly handled_events: number;
  readonly failed_events: number;
  readonly ticks: number;
  readonly tick_errors: number;
  readonly last_tick_at: number | null;
  readonly last_error: string | null;
  /** The last few failures, oldest first. */
  readonly recent_errors: readonly UnitError[];
}

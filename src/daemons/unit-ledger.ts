import { type HealthState, type Outcomes, standardHealth, type UnitHealth } from "./health.ts";

/** The standard rule looks at so many of the last pieces of work, so that an old fault is forgotten and a new one shows. */
const REMEMBERED = 100;

/** Failures that are kept, so that one sees what repeats. */
const KEPT_ERRORS = 50;
const MOST_TEXT = 2_000;

export interface UnitError {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: "event" | "tick";
  readonly error: string;
}

/** What a unit has done since it started, counted once each piece of work has ended. */
interface UnitLedger {
  readonly handled: number;
  readonly failed: number;
  readonly ticks: number;
  readonly tickErrors: number;
  /** When its loop last ended well, in milliseconds since the epoch. */
  readonly lastTickAt: number | null;
  readonly lastError: string | null;
  succeed(kind: "event" | "tick", at: number): void;
  /** The last failures, oldest first. */
  readonly recentErrors: readonly UnitError[];
  fail(kind: "event" | "tick", error: string, at: number): void;
  recent(): Outcomes;
  health(): UnitHealth;
}

export function createUnitLedger(): UnitLedger {
  const outcomes: boolean[] = [];
  const recentErrors: UnitError[] = [];
  const counts = { event: 0, tick: 0 };
  const failures = { event: 0, tick: 0 };
  let lastTickAt: number | null = null;
  let lastError: string | null = null;
  const note = (ok: boolean) => {
    outcomes.push(ok);
    if (outcomes.length > REMEMBERED) outcomes.shift();
  };
  const recent = (): Outcomes => {
    const succeeded = outcomes.filter(Boolean).length;
    return { succeeded, failed: outcomes.length - succeeded };
  };
  return {
    get handled() {
      return counts.event;
    },
    get failed() {
      return failures.event;
    },
    get ticks() {
      return counts.tick;
    },
    get tickErrors() {
      return failures.tick;
    },
    get lastTickAt() {
      return lastTickAt;
    },
    get lastError() {
      return lastError;
    },
    succeed(kind, at) {
      counts[kind] += 1;
      if (kind === "tick") lastTickAt = at;
      note(true);
    },
    get recentErrors() {
      return recentErrors;
    },
    fail(kind, said, at) {
      const error = said.slice(0, MOST_TEXT);
      failures[kind] += 1;
      lastError = error;
      recentErrors.push({ at, kind, error });
      if (recentErrors.length > KEPT_ERRORS) recentErrors.shift();
      note(false);
    },
    recent,
    health: () => standardHealth(recent()),
  };
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

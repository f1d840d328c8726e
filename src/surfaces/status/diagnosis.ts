/**
 * What is wrong with a running process, and what to do about it. A pure judgement of what the process says of itself: its part of
 * the causes that `ringrift status`, `health`, `why` and the line of `ringrift up` show.
 */

import { type Cause, causeOf, OPERATOR_HOLD, unitNameOf } from "../../daemons/index.ts";
import { duration, number, plural, printable } from "../cli/text.ts";
import type { Daemon } from "../daemons/wire.ts";
import { ALERTS } from "../dead-letters/view.ts";
import type { Status } from "./wire.ts";

export interface OpenAlerts {
  readonly critical: number;
  readonly error: number;
  readonly warning: number;
}

/** What it judges by. */
export interface StatusFacts extends Pick<Status, "fault" | "dead_letters" | "readiness" | "daemons" | "started_at"> {
  readonly router: Pick<Status["router"], "open_breakers">;
  /** Consumers that are present. */
  readonly journal: { readonly consumers: readonly { readonly consumer: string; readonly lag: number }[] };
}

/** A consumer so many journal rows behind is worth a look. */
const MUCH_LAG = 10_000;

/** Whether somebody stopped it while this process ran; one that the profile leaves out never started here. */
const wasStopped = ({ wanted, state, conditions }: Daemon, startedAtMs: number): boolean => {
  if (wanted || state !== "stopped") return false;
  const ready = conditions.find(({ type }) => type === "Ready");
  return ready !== undefined && ready.reason === "Stopped" && ready.last_transition_at >= startedAtMs;
};

/** What a person holds, a person lets go; everybody else lifts a hold when its reason is over. */
function causeOfHold({ name, holds }: Daemon, reason: string, stateSince: number | null): Cause {
  const since = holds[0]?.since ?? stateSince;
  const about = { actual: reason, required: "nothing holds it", since };
  const other = holds.some(({ hold }) => hold === OPERATOR_HOLD) ? undefined : holds[0];
  // Several may hold it for one cause: the first says it.
  const what =
    other === undefined
      ? `${printable(name)} is paused: ${printable(reason)}`
      : `${printable(name)} is paused until this ends: ${printable(other.reason)}`;
  return other === undefined
    ? causeOf("warn", "daemon_held", name, what, { ...about, advice: { action: "resume", subject: name } })
    : causeOf("note", "daemon_held", name, what, about);
}

/** What keeps a daemon from its work; undefined where nothing does. Those that wait for another one have its cause. */
export function causeOfDaemon(row: Daemon, nowMs: number): Cause | undefined {
  const name = printable(row.name);
  const why = printable(row.permanently_failed ?? row.last_error ?? row.health.message);
  const since = row.conditions.find(({ type }) => type === "Ready")?.last_transition_at ?? null;
  const about = { actual: why, required: "running", since };
  const show = { ...about, advice: { action: "show", subject: row.name } } as const;
  if (row.permanently_failed !== null)
    return causeOf("bad", "daemon_given_up", row.name, `${name} is given up: ${why}`, {
      ...about,
      advice: { action: "reset", subject: row.name },
    });
  switch (row.state) {
    case "failed":
    case "import_failed":
      return causeOf("bad", "daemon_failed", row.name, `${name} failed and is not restarted: ${why}`, show);
    case "restarting": {
      const inMs = row.restart_at === null ? 0 : Math.max(0, row.restart_at - nowMs);
      const tries = `restart ${row.restarts + 1} of ${row.max_restarts} in ${duration(inMs)}`;
      return causeOf("warn", "daemon_restarting", row.name, `${name} failed: ${why}; ${tries}`, show);
    }
    case "degraded":
      return causeOf("warn", "daemon_degraded", row.name, `${name} is not well: ${why}`, show);
    default:
      break;
  }
  if (row.paused !== null && row.waits_for == null) return causeOfHold(row, row.paused, since);
  if (!row.wanted && row.state === "stopped")
    return causeOf("warn", "daemon_stopped", row.name, `${name} was stopped`, {
      actual: "stopped",
      required: "running",
      since,
      advice: { action: "start", subject: row.name },
    });
  return undefined;
}

/** One that the profile leaves out never started here: that it is stopped is nothing to tell. */
const isTold = (row: Daemon, startedAtMs: number): boolean =>
  row.wanted || row.state !== "stopped" || row.paused !== null || wasStopped(row, startedAtMs);

function waitingFor(daemons: readonly Daemon[]): Cause[] {
  const roots = Map.groupBy(
    daemons.filter(({ waits_for }) => waits_for != null),
    ({ waits_for }) => waits_for!,
  );
  return [...roots].map(([root, waiting]) =>
    causeOf(
      "warn",
      "daemons_wait",
      root,
      `${plural(waiting.length, "daemon")} ${waiting.length === 1 ? "waits" : "wait"} for ${printable(root)}: ` +
        waiting
          .map(({ name }) => printable(name))
          .slice(0, 5)
          .join(", "),
      { advice: { action: "why", subject: root } },
    ),
  );
}

function ofLetters({ pending, retrying }: Status["dead_letters"]): Cause[] {
  const letters = pending + retrying;
  if (letters === 0) return [];
  const level = letters >= ALERTS.critical ? "bad" : letters >= ALERTS.warning ? "warn" : "note";
  const what = `${plural(letters, "dead letter")} ${letters === 1 ? "waits" : "wait"}`;
  const advice = { action: "dead_letters", subject: "" } as const;
  return [causeOf(level, "dead_letters", "dead letters", what, { actual: letters, required: 0, advice })];
}

function ofReadiness({ readiness, daemons }: StatusFacts): Cause[] {
  if (readiness.ready) return [];
  // Who is stopped or waits hears nothing, and is told as such: its cause must not be lost among them.
  const idle = new Set(
    daemons
      .filter(({ wanted, paused, waits_for }) => !wanted || paused !== null || waits_for != null)
      .map(({ name }) => name),
  );
  const missing = readiness.subscriptions.filter(({ missing: consumers }) =>
    consumers.some((consumer) => !idle.has(unitNameOf(consumer))),
  );
  return [
    ...readiness.unsubscribed
      .filter((unit) => !idle.has(unit))
      .map((unit) =>
        causeOf("bad", "not_subscribed", unit, `${printable(unit)} does not hear its events`, {
          advice: { action: "restart", subject: unit },
        }),
      ),
    ...missing.map(({ event, missing: consumers }) =>
      causeOf(
        "bad",
        "event_unheard",
        event,
        `nobody hears ${printable(event)}: ${consumers.map(printable).join(", ")} should`,
        { advice: { action: "audit", subject: event } },
      ),
    ),
  ];
}

function ofAlerts({ critical, error, warning }: OpenAlerts): Cause[] {
  const open = (level: Cause["level"], n: number, word: string): Cause[] => {
    const what = `${plural(n, `${word} alert`)} ${n === 1 ? "is" : "are"} open`;
    const advice = { action: "alerts", subject: word } as const;
    return n === 0 ? [] : [causeOf(level, "alerts", word, what, { actual: n, required: 0, advice })];
  };
  return [...open("bad", critical, "critical"), ...open("warn", error, "error"), ...open("note", warning, "warning")];
}

/** The disk that takes nothing: whatever else there is to say, it comes of this. */
export const causeOfFault = (fault: StatusFacts["fault"], nowMs: number): Cause | undefined =>
  fault === null
    ? undefined
    : causeOf(
        "bad",
        "store_fault",
        "disk",
        `the disk has refused commits for ${duration(Math.max(0, nowMs - fault.since))}: ${printable(fault.message)}`,
        { actual: fault.code, required: "commits", since: fault.since, advice: { action: "doctor", subject: "" } },
      );

export function diagnose(status: StatusFacts, nowMs: number, alerts?: OpenAlerts): Cause[] {
  const { fault, router, journal, daemons } = status;
  return [
    ...[causeOfFault(fault, nowMs)].filter((found) => found !== undefined),
    ...ofReadiness(status),
    ...daemons.filter((row) => isTold(row, status.started_at)).flatMap((row) => causeOfDaemon(row, nowMs) ?? []),
    ...waitingFor(daemons),
    ...(alerts === undefined ? [] : ofAlerts(alerts)),
    ...ofLetters(status.dead_letters),
    ...router.open_breakers.map(({ consumer, event_type }) =>
      causeOf(
        "warn",
        "breaker_open",
        `${consumer} ${event_type}`,
        `the breaker of ${printable(consumer)} for ${printable(event_type)} is open: it fails again and again`,
        { advice: { action: "letters", subject: consumer } },
      ),
    ),
    ...journal.consumers
      .filter(({ lag }) => lag >= MUCH_LAG)
      .map(({ consumer, lag }) =>
        causeOf("warn", "consumer_behind", consumer, `${printable(consumer)} is ${number(lag)} events behind`, {
          actual: lag,
          required: `fewer than ${number(MUCH_LAG)}`,
          advice: { action: "consumer", subject: consumer },
        }),
      ),
  ];
}

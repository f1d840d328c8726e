/**
 * What is wrong with a running system, and what to do about it, worst first. A pure judgement of what the process says of
 * itself: the same words in `ringrift status`, in the line of `ringrift up` and in the tests.
 */
import { ALERTS } from "./dlq-view.ts";
import type { DaemonRow, StatusReport } from "./status-report.ts";
import { ago, duration, number, plural, printable } from "./text.ts";

/** `bad` needs somebody now, `warn` needs a look, `note` is worth knowing. */
export type Level = "bad" | "warn" | "note";

export interface Trouble {
  readonly level: Level;
  readonly what: string;
  /** What to type or do next. */
  readonly todo: string;
}

export interface OpenAlerts {
  readonly critical: number;
  readonly error: number;
  readonly warning: number;
}

const LEVELS: readonly Level[] = ["bad", "warn", "note"];

/** A consumer so many journal rows behind is worth a look. */
const MUCH_LAG = 10_000;

const bad = (what: string, todo: string): Trouble => ({ level: "bad", what, todo });
const warn = (what: string, todo: string): Trouble => ({ level: "warn", what, todo });
const note = (what: string, todo: string): Trouble => ({ level: "note", what, todo });

/** The name in quotes at the end of "waits for 'x': a -> b -> x". */
const rootOf = (paused: string): string | undefined => /^waits for '([^']+)'/.exec(paused)?.[1];

/** Whether somebody stopped it while this process ran; one that the profile leaves out never started here. */
const wasStopped = ({ wanted, state, conditions }: DaemonRow, startedAtMs: number): boolean => {
  if (wanted || state !== "stopped") return false;
  const ready = conditions.find(({ type }) => type === "Ready");
  return ready !== undefined && ready.reason === "Stopped" && ready.last_transition_at * 1_000 >= startedAtMs;
};

function ofDaemon(row: DaemonRow, nowMs: number, startedAtMs: number): Trouble[] {
  const name = printable(row.name);
  const why = printable(row.permanently_failed ?? row.last_error ?? row.health.message);
  if (row.permanently_failed !== null)
    return [bad(`${name} is given up: ${why}`, `mend the cause, then 'ringrift daemons reset ${name}'`)];
  switch (row.state) {
    case "failed":
    case "import_failed":
      return [bad(`${name} failed and is not restarted: ${why}`, `'ringrift daemons show ${name}'`)];
    case "restarting": {
      const inMs = row.restart_at === null ? 0 : Math.max(0, row.restart_at * 1_000 - nowMs);
      const tries = `restart ${row.restarts + 1} of ${row.max_restarts} in ${duration(inMs)}`;
      return [warn(`${name} failed: ${why}; ${tries}`, `'ringrift daemons show ${name}'`)];
    }
    case "degraded":
      return [warn(`${name} is not well: ${why}`, `'ringrift daemons show ${name}'`)];
    default:
      break;
  }
  // Those that wait for another one are counted with that one.
  if (row.paused !== null && rootOf(row.paused) === undefined)
    return [warn(`${name} is kept from running: ${printable(row.paused)}`, `'ringrift daemons resume ${name}'`)];
  if (wasStopped(row, startedAtMs))
    return [warn(`${name} was stopped`, `'ringrift daemons start ${name}' if it should run`)];
  return [];
}

function waitingFor(daemons: readonly DaemonRow[]): Trouble[] {
  const roots = Map.groupBy(
    daemons.filter(({ paused }) => paused !== null && rootOf(paused) !== undefined),
    ({ paused }) => rootOf(paused!)!,
  );
  return [...roots].map(([root, waiting]) =>
    warn(
      `${plural(waiting.length, "daemon")} ${waiting.length === 1 ? "waits" : "wait"} for ${printable(root)}: ` +
        waiting
          .map(({ name }) => printable(name))
          .slice(0, 5)
          .join(", "),
      `they start by themselves once ${printable(root)} runs`,
    ),
  );
}

function ofLetters({ pending, retrying }: StatusReport["dead_letters"]): Trouble[] {
  const letters = pending + retrying;
  const what = `${plural(letters, "dead letter")} ${letters === 1 ? "waits" : "wait"}`;
  const todo = "'ringrift dlq' shows causes and what to do";
  if (letters >= ALERTS.critical) return [bad(what, todo)];
  if (letters >= ALERTS.warning) return [warn(what, todo)];
  return letters > 0 ? [note(what, todo)] : [];
}

function ofReadiness({ readiness, daemons = [] }: StatusReport): Trouble[] {
  if (readiness === undefined || readiness.ready) return [];
  // Who is stopped or waits hears nothing, and is told as such: its cause must not be lost among them.
  const idle = new Set(daemons.filter(({ wanted, paused }) => !wanted || paused !== null).map(({ name }) => name));
  const missing = readiness.subscriptions.filter(({ missing: consumers }) => consumers.length > 0);
  return [
    ...readiness.unsubscribed
      .filter((unit) => !idle.has(unit))
      .map((unit) =>
        bad(`${printable(unit)} does not hear its events`, `'ringrift daemons restart ${printable(unit)}'`),
      ),
    ...missing.map(({ event, missing: consumers }) =>
      bad(`nobody hears ${printable(event)}: ${consumers.map(printable).join(", ")} should`, "'ringrift audit'"),
    ),
  ];
}

function ofAlerts({ critical, error, warning }: OpenAlerts): Trouble[] {
  const todo = "'ringrift alerts'";
  const count = (n: number, word: string) => `${plural(n, `${word} alert`)} ${n === 1 ? "is" : "are"} open`;
  return [
    ...(critical > 0 ? [bad(count(critical, "critical"), todo)] : []),
    ...(error > 0 ? [warn(count(error, "error"), todo)] : []),
    ...(warning > 0 ? [note(count(warning, "warning"), todo)] : []),
  ];
}

export function diagnose(status: StatusReport, nowMs: number, alerts?: OpenAlerts): Trouble[] {
  const { fault, router, journal, daemons = [] } = status;
  const found = [
    ...(fault === null
      ? []
      : [
          bad(
            `the disk refuses commits since ${ago(fault.since, nowMs)}: ${printable(fault.message)}`,
            "free space or make the data folder writable; it goes on by itself. 'ringrift doctor' looks closer",
          ),
        ]),
    ...ofReadiness(status),
    ...daemons.flatMap((row) => ofDaemon(row, nowMs, nowMs - status.uptime_seconds * 1_000)),
    ...waitingFor(daemons),
    ...(alerts === undefined ? [] : ofAlerts(alerts)),
    ...ofLetters(status.dead_letters),
    ...router.open_breakers.map(({ consumer, event_type }) =>
      warn(
        `the breaker of ${printable(consumer)} for ${printable(event_type)} is open: it fails again and again`,
        `'ringrift dlq --consumer ${printable(consumer)}'`,
      ),
    ),
    ...journal.consumers
      .filter(({ lag, expired_at }) => lag >= MUCH_LAG && expired_at === null)
      .map(({ consumer, lag }) =>
        warn(`${printable(consumer)} is ${number(lag)} events behind`, "is it connected, and does it keep up?"),
      ),
  ];
  return found.sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
}

/** Well means that nobody has to do anything. */
export const isWell = (troubles: readonly Trouble[]): boolean => troubles.every(({ level }) => level === "note");

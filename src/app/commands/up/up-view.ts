/** What `ringrift up` shows while it runs, and what it says at the end. */
import type { Cause, DaemonInfo } from "../../../daemons/index.ts";
import {
  adviceWords,
  duration,
  number,
  type Paint,
  plural,
  printable,
  shorten,
} from "../../../surfaces/commands/index.ts";

/** How the process stands, looked at once a second. */
export interface Sample {
  readonly uptimeMs: number;
  readonly ready: number;
  readonly wanted: number;
  readonly events: number;
  readonly perSecond: number;
  /** Journal rows that the consumer furthest behind has still to look at. */
  readonly lag: number;
  readonly deadLetters: number;
  /** Open alerts; undefined where nobody counts them. */
  readonly alerts?: number | undefined;
  readonly loopDelayMs: number;
  /** What is wrong, worst first. */
  readonly troubles: readonly Cause[];
}

export interface Place {
  readonly pid: number;
  readonly port: number;
  readonly dataDir: string;
}

/** A main loop that is so late keeps others waiting. */
const LATE_MS = 100;

const stateOf = ({ troubles }: Pick<Sample, "troubles">): "running" | "not well" | "in trouble" => {
  if (troubles.some(({ level }) => level === "bad")) return "in trouble";
  return troubles.some(({ level }) => level === "warn") ? "not well" : "running";
};

const factsOf = (sample: Sample): readonly { readonly text: string; readonly wrong: boolean }[] => [
  { text: `units ${sample.ready}/${sample.wanted}`, wrong: sample.ready < sample.wanted },
  { text: `${number(Math.round(sample.perSecond))} events/s`, wrong: false },
  { text: `lag ${number(sample.lag)}`, wrong: sample.lag >= 10_000 },
  { text: `dead ${number(sample.deadLetters)}`, wrong: sample.deadLetters > 0 },
  ...(sample.alerts === undefined ? [] : [{ text: `alerts ${number(sample.alerts)}`, wrong: sample.alerts > 0 }]),
  { text: `loop ${duration(sample.loopDelayMs)}`, wrong: sample.loopDelayMs >= LATE_MS },
];

/** One line without colours, for systemd and for pipes. */
export const plainLine = (sample: Sample): string =>
  [stateOf(sample), ...factsOf(sample).map(({ text }) => text)].join(", ");

/** Two lines: how it stands, and where it is or what is wrong. */
export function liveLines(sample: Sample, place: Place, { paint, width }: { paint: Paint; width: number }): string[] {
  const state = stateOf(sample);
  const color = { running: paint.green, "not well": paint.yellow, "in trouble": paint.red }[state];
  // The last column stays free: some terminals would wrap there.
  let room = width - 1 - state.length - 2;
  const shown: string[] = [];
  for (const { text, wrong } of [...factsOf(sample), { text: `up ${duration(sample.uptimeMs)}`, wrong: false }]) {
    if (text.length + 2 > room) break;
    room -= text.length + 2;
    shown.push(wrong ? paint.yellow(text) : text);
  }
  const [worst] = sample.troubles.filter(({ level }) => level !== "note");
  const where = `pid ${place.pid}  port ${place.port}  ${printable(place.dataDir)}`;
  const end = "Ctrl-C stops";
  const below =
    worst === undefined
      ? paint.dim(`  ${shorten(where, width - end.length - 5)}  ${end}`)
      : color(`  ${shorten(`${worst.what}. ${adviceWords(worst.advice)}`, width - 3)}`);
  return [`${color("●")} ${[color(paint.bold(state)), ...shown].join("  ")}`, below];
}

/** What an orderly end still waits for: those that run or end, dependents first. */
export const waitedFor = (daemons: Readonly<Record<string, DaemonInfo>>): string[] =>
  Object.values(daemons)
    .filter(({ state }) => state !== "stopped" && state !== "failed" && state !== "import_failed")
    .map(({ name }) => name);

const MAX_NAMED = 6;

export function waitingLine(names: readonly string[], sinceMs: number): string {
  const since = duration(sinceMs);
  if (names.length === 0) return `stopping: the daemons have ended; the journal is being closed (${since})`;
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `stopping: waits for ${names.slice(0, MAX_NAMED).map(printable).join(", ")}${more} (${since})`;
}

export interface Summary {
  readonly status: "stopped";
  readonly uptime_seconds: number;
  readonly events: number;
  readonly handler_failures: number;
  readonly dead_letters: number;
  readonly restarts: number;
  /** Daemons that did not end and were left behind. */
  readonly hung: readonly string[];
  readonly forced: boolean;
}

export function summaryLine(summary: Summary): string {
  const facts = [
    plural(summary.events, "event"),
    ...(summary.handler_failures > 0 ? [plural(summary.handler_failures, "failed try", "failed tries")] : []),
    ...(summary.restarts > 0 ? [plural(summary.restarts, "restart")] : []),
    `${plural(summary.dead_letters, "dead letter")} left`,
    ...(summary.hung.length > 0 ? [`did not end: ${summary.hung.map(printable).join(", ")}`] : []),
  ];
  return `stopped${summary.forced ? " by force" : ""} after ${duration(summary.uptime_seconds * 1_000)}: ${facts.join(", ")}`;
}

/** What is worth a line while the loop runs into a pipe or a log. */
import type { ConfigSnapshot, GateView, LoopSnapshot } from "../../pipeline/snapshot.ts";
import { isPassed } from "./loop-ladder.ts";
import type { LoopFigures } from "./loop-view.ts";
import {
  booksOffBy,
  byWords,
  championRating,
  eloWords,
  gateNumbers,
  nameOf,
  STAGE_WORDS,
  shortModel,
  signed,
  VERDICT_WORDS,
  waitWords,
} from "./loop-words.ts";
import { duration, number, plural, printable } from "./text.ts";

export interface LoopChange {
  readonly level: "good" | "bad" | "note";
  readonly text: string;
  /** Said at most once in a run: an estimate may cross the same line several times. */
  readonly once?: string;
}

const sameGate = (a: GateView, b: GateView) => a.iteration === b.iteration && a.candidate === b.candidate;

function verdictsBetween(before: ConfigSnapshot, after: ConfigSnapshot): LoopChange[] {
  const known = before.gates.filter(({ verdict }) => verdict !== null);
  return after.gates.flatMap((gate) => {
    const { verdict } = gate;
    if (verdict === null || known.some((each) => sameGate(each, gate))) return [];
    const against = nameOf(after, gate.opponent);
    const text = `iteration ${gate.iteration} ${VERDICT_WORDS[verdict]} against ${against}: ${gateNumbers(gate)}`;
    return [{ level: verdict === "promote" ? "good" : "note", text }];
  });
}

/** Champions that no verdict explains: the first one, and what people or a rollback have done. */
const crownedBetween = (before: ConfigSnapshot, after: ConfigSnapshot): LoopChange[] =>
  after.champions
    .filter(({ model, since }) => !before.champions.some((known) => known.model === model && known.since === since))
    .filter(({ by }) => by !== "gate")
    .map((champion) => ({
      level: champion.by === "rollback" ? "bad" : "note",
      text: `champion ${champion.generation} is ${shortModel(champion.model)}, ${byWords(champion)}`,
    }));

function passedBetween(before: ConfigSnapshot, after: ConfigSnapshot): LoopChange[] {
  const now = championRating(after);
  if (now === undefined) return [];
  const then = championRating(before);
  return after.ladder
    .filter((anchor) => anchor.is_anchor && isPassed(anchor, now))
    .filter((anchor) => {
      const anchorThen = before.ladder.find(({ player }) => player === anchor.player);
      return then === undefined || anchorThen === undefined || !isPassed(anchorThen, then);
    })
    .sort((a, b) => a.elo - b.elo)
    .map((anchor) => ({
      level: "good",
      text: `${printable(now.name)} passes ${printable(anchor.name)}: Elo ${eloWords(now)} against ${signed(anchor.elo)}`,
      once: `${after.config_key} passes ${anchor.player}`,
    }));
}

const failuresBetween = (before: ConfigSnapshot, after: ConfigSnapshot): LoopChange[] =>
  after.failures
    .filter(
      ({ at, stage, code }) =>
        !before.failures.some((known) => known.at === at && known.stage === stage && known.code === code),
    )
    .map(({ stage, code, message, retryable }) => ({
      level: "bad",
      text: `${STAGE_WORDS[stage]} failed${retryable ? "" : " for good"}: ${printable(message)} (${printable(code)})`,
    }));

function suspectsBetween(before: ConfigSnapshot, after: ConfigSnapshot): LoopChange[] {
  const names = (config: ConfigSnapshot) => new Set(config.suspects.map(({ producer }) => producer));
  const [then, now] = [names(before), names(after)];
  return [
    ...after.suspects
      .filter(({ producer }) => !then.has(producer))
      .map(
        ({ producer, reason }): LoopChange => ({
          level: "bad",
          text: `${printable(producer)} is suspect: ${printable(reason)}`,
        }),
      ),
    ...[...then]
      .filter((producer) => !now.has(producer))
      .map((producer): LoopChange => ({ level: "good", text: `${printable(producer)} is no longer suspect` })),
  ];
}

function stateBetween(before: ConfigSnapshot | undefined, after: ConfigSnapshot, at: number): LoopChange[] {
  if (before?.state === after.state) return [];
  const [wait] = after.waits;
  const why = wait === undefined ? "" : `: ${waitWords(wait, at)}`;
  switch (after.state) {
    case "running":
      return before === undefined ? [] : [{ level: "good", text: `goes on with ${STAGE_WORDS[after.stage]}` }];
    case "complete":
      return [{ level: "good", text: `complete after ${plural(after.iteration, "iteration")}` }];
    case "failed":
      return [{ level: "bad", text: `stopped at ${STAGE_WORDS[after.stage]}${why}` }];
    default:
      return [{ level: "note", text: `${after.state} at ${STAGE_WORDS[after.stage]}${why}` }];
  }
}

const booksBetween = (before: ConfigSnapshot, { books }: ConfigSnapshot): LoopChange[] => {
  if (before.books.balanced === books.balanced) return [];
  if (books.balanced) return [{ level: "good", text: "the books balance again" }];
  return [{ level: "bad", text: `the books do not balance: off by ${plural(Math.abs(booksOffBy(books)), "game")}` }];
};

/** What has happened between two looks, config by config, in the order in which it is best understood. */
export function changesBetween(before: LoopSnapshot | undefined, after: LoopSnapshot): LoopChange[] {
  return after.configs.flatMap((config) => {
    const then = before?.configs.find(({ config_key }) => config_key === config.config_key);
    const opened: LoopChange[] =
      then === undefined
        ? [{ level: "note", text: `begins at iteration ${config.iteration}, seed ${config.seed}` }]
        : [];
    // What was there when somebody began to look is no news.
    const known = then ?? { ...config, state: "running" as const };
    return [
      ...opened,
      ...crownedBetween(known, config),
      ...verdictsBetween(known, config),
      ...passedBetween(known, config),
      ...failuresBetween(known, config),
      ...suspectsBetween(known, config),
      ...booksBetween(known, config),
      ...stateBetween(then, config, after.at),
    ].map((change) => ({ ...change, text: `${printable(config.config_key)}: ${change.text}` }));
  });
}

/** How everything stands, on one line. */
export function loopStatusLine({ configs }: LoopSnapshot, figures: LoopFigures): string {
  const told = configs.map((config) => {
    const rating = championRating(config);
    const running = config.stages.find(({ stage }) => stage === config.stage);
    const done = running === undefined || running.progress === null ? "" : ` ${Math.round(running.progress * 100)} %`;
    const where = config.state === "running" ? `${STAGE_WORDS[config.stage]}${done}` : config.state;
    return [
      `${printable(config.config_key)} iteration ${number(config.iteration)} ${where}`,
      `${plural(config.games, "game")} (${config.games_per_second.toFixed(1)}/s)`,
      ...(config.champion === null ? [] : [`champion ${config.champion.generation}`]),
      ...(rating === undefined ? [] : [`Elo ${eloWords(rating)}`]),
    ].join(", ");
  });
  const { alerts, remainingMs } = figures;
  return [
    ...told,
    [
      `${number(Math.round(figures.eventsPerSecond))} events/s`,
      ...(alerts === 0 ? [] : [plural(alerts, "alert")]),
      `up ${duration(figures.uptimeMs)}`,
      ...(remainingMs === null ? [] : [`${duration(Math.max(0, remainingMs))} left`]),
    ].join(", "),
  ].join("; ");
}

const STATUS_EVERY_MS = 15_000;

/** Tells a pipe what happens: a line for each change as it comes, and how everything stands from time to time. */
export interface LoopTeller {
  look(snapshot: LoopSnapshot, figures: LoopFigures): string[];
}

export function createLoopTeller(statusEveryMs = STATUS_EVERY_MS): LoopTeller {
  let before: LoopSnapshot | undefined;
  let toldAtMs = 0;
  const said = new Set<string>();
  return {
    look(snapshot, figures) {
      const changes = changesBetween(before, snapshot).filter(({ once }) => once === undefined || !said.has(once));
      for (const { once } of changes) if (once !== undefined) said.add(once);
      before = snapshot;
      const isDue = figures.uptimeMs - toldAtMs >= statusEveryMs;
      if (isDue) toldAtMs = figures.uptimeMs;
      return [...changes.map(({ text }) => text), ...(isDue ? [loopStatusLine(snapshot, figures)] : [])];
    },
  };
}

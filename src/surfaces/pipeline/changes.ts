/** What is worth a line while the loop runs into a pipe or a log. */
import type { ConfigSnapshot, PipelineSnapshot } from "../../pipeline/index.ts";
import { duration, number, plural, printable } from "../cli/text.ts";
import { isPassed } from "./ladder.ts";
import type { PipelineFigures } from "./screen.ts";
import {
  booksOffBy,
  byWords,
  causeWords,
  championRating,
  eloWords,
  endedGates,
  gateNumbers,
  nameOf,
  producerName,
  STAGE_WORDS,
  shortModel,
  signed,
  stageWords,
  standstillWords,
  VERDICT_WORDS,
} from "./words.ts";

export interface PipelineChange {
  readonly text: string;
  /** Said at most once in a run: an estimate may cross the same line several times. */
  readonly once?: string;
}

function verdictsBetween(before: ConfigSnapshot, after: ConfigSnapshot): string[] {
  const known = endedGates(before);
  return endedGates(after)
    .filter((gate) => !known.some((each) => each.iteration === gate.iteration && each.candidate === gate.candidate))
    .reverse()
    .map((gate) => {
      const against = nameOf(after, gate.opponent);
      return `iteration ${gate.iteration} ${VERDICT_WORDS[gate.verdict]} against ${against}: ${gateNumbers(gate)}`;
    });
}

/** Champions that no verdict explains: the first one, and what people or a rollback have done. */
const crownedBetween = (before: ConfigSnapshot, after: ConfigSnapshot): string[] =>
  after.champions
    .filter(({ model, since }) => !before.champions.some((known) => known.model === model && known.since === since))
    .filter(({ by }) => by !== "gate")
    .map((champion) => `champion ${champion.generation} is ${shortModel(champion.model)}, ${byWords(champion)}`);

function passedBetween(before: ConfigSnapshot, after: ConfigSnapshot): PipelineChange[] {
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
      text: `${printable(now.name)} passes ${printable(anchor.name)}: Elo ${eloWords(now)} against ${signed(anchor.elo)}`,
      once: `${after.config_key} passes ${anchor.player}`,
    }));
}

const failuresBetween = (before: ConfigSnapshot, after: ConfigSnapshot): string[] =>
  after.failures
    .filter(
      ({ at, stage, code }) =>
        !before.failures.some((known) => known.at === at && known.stage === stage && known.code === code),
    )
    .map(
      ({ stage, code, message, retryable }) =>
        `${STAGE_WORDS[stage]} failed${retryable ? "" : " for good"}: ${printable(message)} (${printable(code)})`,
    );

function suspectsBetween(before: ConfigSnapshot, after: ConfigSnapshot): string[] {
  const names = (config: ConfigSnapshot) => new Set(config.suspects.map(({ producer }) => producer));
  const [then, now] = [names(before), names(after)];
  const found = after.suspects.filter(({ producer }) => !then.has(producer));
  return [
    ...found.map((suspect) => `${producerName(suspect)} is suspect: ${printable(suspect.reason)}`),
    ...before.suspects
      .filter(({ producer }) => !now.has(producer))
      .map((suspect) => `${producerName(suspect)} is no longer suspect`),
  ];
}

/** What a config that runs stands still for, once it does, and that it goes on. */
function causeBetween(before: ConfigSnapshot | undefined, { state, cause }: ConfigSnapshot, at: number): string[] {
  if (state !== "running") return [];
  const told = (found: ConfigSnapshot["cause"]) => (found == null || found.level === "note" ? undefined : found);
  const [then, now] = [told(before?.cause), told(cause)];
  if (now !== undefined && now.code !== then?.code) return [causeWords(now, at)];
  return now === undefined && then !== undefined && before?.state === "running" ? ["continues"] : [];
}

function stateBetween(before: ConfigSnapshot | undefined, after: ConfigSnapshot, at: number): string[] {
  if (before?.state === after.state) return [];
  const standstill = standstillWords(after, at);
  const why = standstill === undefined ? "" : `: ${standstill}`;
  switch (after.state) {
    case "running":
      return before === undefined ? [] : [`continues with ${STAGE_WORDS[after.stage]}`];
    case "complete":
      return [`complete after ${plural(after.iteration, "iteration")}`];
    case "failed":
      return [`stopped at ${STAGE_WORDS[after.stage]}${why}`];
    default:
      return [`${after.state} at ${STAGE_WORDS[after.stage]}${why}`];
  }
}

const booksBetween = (before: ConfigSnapshot, { books }: ConfigSnapshot): string[] => {
  if (before.books.balanced === books.balanced) return [];
  if (books.balanced) return ["the books balance again"];
  return [`the books do not balance: off by ${plural(Math.abs(booksOffBy(books)), "game")}`];
};

/** What has happened between two looks, config by config, in the order in which it is best understood. */
export function changesBetween(before: PipelineSnapshot | undefined, after: PipelineSnapshot): PipelineChange[] {
  return after.configs.flatMap((config) => {
    const then = before?.configs.find(({ config_key }) => config_key === config.config_key);
    const begins = then === undefined ? [`begins at iteration ${config.iteration}, seed ${config.seed}`] : [];
    // What was there when somebody began to look is no news.
    const known = then ?? { ...config, state: "running" as const };
    const plain = (...texts: readonly string[]): PipelineChange[] => texts.map((text) => ({ text }));
    return [
      ...plain(...begins, ...crownedBetween(known, config), ...verdictsBetween(known, config)),
      ...passedBetween(known, config),
      ...plain(...failuresBetween(known, config), ...suspectsBetween(known, config)),
      ...plain(
        ...booksBetween(known, config),
        ...stateBetween(then, config, after.at),
        ...causeBetween(then, config, after.at),
      ),
    ].map((change) => ({ ...change, text: `${printable(config.config_key)}: ${change.text}` }));
  });
}

/** How everything stands, on one line. */
export function pipelineStatusLine({ configs }: PipelineSnapshot, figures: PipelineFigures): string {
  const told = configs.map((config) => {
    const rating = championRating(config);
    const where = config.state === "running" ? stageWords(config) : config.state;
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
export function createPipelineTeller() {
  let before: PipelineSnapshot | undefined;
  let shownAtMs = 0;
  const said = new Set<string>();
  return {
    look(snapshot: PipelineSnapshot, figures: PipelineFigures): string[] {
      const changes = changesBetween(before, snapshot).filter(({ once }) => once === undefined || !said.has(once));
      for (const { once } of changes) if (once !== undefined) said.add(once);
      before = snapshot;
      const isDue = figures.uptimeMs - shownAtMs >= STATUS_EVERY_MS;
      if (isDue) shownAtMs = figures.uptimeMs;
      return [...changes.map(({ text }) => text), ...(isDue ? [pipelineStatusLine(snapshot, figures)] : [])];
    },
  };
}

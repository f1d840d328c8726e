/** How the loop is told in words: the same in the live view, in a pipe, in the commands and in the report. */
import type { Cause } from "../../daemons/index.ts";
import type { ChampionView, ConfigSnapshot, GateView, Rated, Stage, Wait } from "../../pipeline/index.ts";
import { painter } from "../cli/paint.ts";
import { ago, duration, number, percent, plural, printable } from "../cli/text.ts";

/** Short enough that all six stand on one line of a small terminal. */
export const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  selfplay: "selfplay",
  data_sync: "sync",
  npz_export: "export",
  training: "training",
  evaluation: "evaluation",
  promotion: "promotion",
};

export const VERDICT_WORDS = {
  promote: "promoted",
  reject: "rejected",
  inconclusive: "inconclusive",
} as const;

export const stateColor = painter({ failed: "red", running: "green", done: "green", complete: "cyan" }, "yellow");

export const progressWords = (progress: number | null | undefined): string =>
  progress == null ? "" : ` ${percent(progress)}`;

/** The stage that runs, and how far it is. */
export const stageWords = ({ stages, stage }: Pick<ConfigSnapshot, "stages" | "stage">): string =>
  STAGE_WORDS[stage] + progressWords(stages.find((view) => view.stage === stage)?.progress);

export const signed = (value: number, digits = 0): string => {
  const text = value.toFixed(digits);
  // What rounds to nothing has no sign: "-0" is no number for people.
  if (Number(text) === 0) return (0).toFixed(digits);
  return value > 0 ? `+${text}` : text;
};

/** The start of a hash: long enough to name a model, short enough to type. */
export const shortModel = (model: string): string =>
  printable(/^[0-9a-f]{64}$/.test(model) ? model.slice(0, 10) : model);

/** What people call a model of this config. */
export function nameOf({ ladder, champions }: Pick<ConfigSnapshot, "ladder" | "champions">, model: string): string {
  const rated = ladder.find(({ player }) => player === model);
  if (rated !== undefined) return printable(rated.name);
  const crowned = champions.findLast((champion) => champion.model === model);
  return crowned === undefined ? shortModel(model) : `champion ${crowned.generation}`;
}

/** The rating of the champion of today. */
export const championRating = ({ champion, ladder }: Pick<ConfigSnapshot, "champion" | "ladder">): Rated | undefined =>
  champion === null ? undefined : ladder.find(({ player }) => player === champion.model);

/** `+419 ±26`; what is pinned has no error. */
export const eloWords = ({ elo, low, high }: Pick<Rated, "elo" | "low" | "high">): string => {
  const half = Math.round((high - low) / 2);
  return half === 0 ? signed(elo) : `${signed(elo)} ±${half}`;
};

export const intervalWords = ({ estimate, low, high }: NonNullable<GateView["elo"]>): string =>
  `${signed(estimate)} Elo (${signed(low)} to ${signed(high)})`;

/** Gates that have ended, newest first. */
export const endedGates = ({ gates }: Pick<ConfigSnapshot, "gates">) =>
  gates.flatMap((gate) => (gate.verdict === null ? [] : [{ ...gate, verdict: gate.verdict }])).reverse();

export const lastRatio = ({ llr }: Pick<GateView, "llr">): number => llr.at(-1) ?? 0;

/** `+62 Elo (+21 to +104), LLR 3.01, 240 games`. */
export const gateNumbers = (gate: GateView): string =>
  [
    ...(gate.elo === null ? [] : [intervalWords(gate.elo)]),
    `LLR ${signed(lastRatio(gate), 2)}`,
    plural(gate.games, "game"),
  ].join(", ");

const valueWords = (value: string | number): string => (typeof value === "number" ? number(value) : printable(value));

/** What it waits for, what there is and what there must be. */
export function waitWords({ for: what, actual, required, since }: Wait, at: number): string {
  const subject = printable(what).replaceAll("_", " ");
  const span = duration(Math.max(0, at - since));
  const both = typeof actual === "number" && typeof required === "number";
  const facts = both
    ? `: ${number(actual)} of ${number(required)}`
    : [
        ...(actual === null ? [] : [`: ${valueWords(actual)}`]),
        ...(required === null ? [] : [`${actual === null ? ":" : ","} must be ${valueWords(required)}`]),
      ].join("");
  return `waits for ${subject}${facts}; for ${span}`;
}

/** What people call a producer. */
export const producerName = ({ label, producer }: ConfigSnapshot["suspects"][number]): string =>
  printable(label ?? producer);

/** Why a config stands still, and for how long: the root of it, which `why`, `status` and `health` name too. */
export const causeWords = ({ what, since, level }: Cause, at: number): string => {
  const span = since === null ? "" : `; for ${duration(Math.max(0, at - since))}`;
  return `${level === "note" ? "" : "no progress: "}${printable(what)}${span}`;
};

/** What holds a config up; undefined while it is at work. Where nobody judged, as in a folder, it is what it waits for first. */
export function standstillWords({ cause, state, waits }: ConfigSnapshot, at: number): string | undefined {
  if (cause != null) return cause.level === "note" ? undefined : causeWords(cause, at);
  const [wait] = waits;
  return cause === null || state === "running" || state === "complete" || wait === undefined
    ? undefined
    : waitWords(wait, at);
}

export const agoWords = (then: number, now: number): string => (now - then < 1_000 ? "just now" : ago(then, now));

const BY: Readonly<Record<string, string>> = {
  gate: "by the gate",
  first: "the first, untrained",
  hand: "by hand",
  rollback: "by a rollback",
};

export const byWords = ({ by }: Pick<ChampionView, "by">): string => BY[by] ?? printable(by);

export const verdictCounts = ({ promote, reject, inconclusive }: ConfigSnapshot["verdicts"]): string =>
  `${number(promote)} promoted, ${number(reject)} rejected, ${number(inconclusive)} inconclusive`;

/** What a share of errors comes to over all promotions. */
export const falsePromotionWords = (expected: number): string => `${expected.toFixed(1)} false ones expected`;

/** `2 parity failed, 1 duplicate`. */
export const rejectedReasons = ({ rejected }: Pick<ConfigSnapshot["books"], "rejected">): string =>
  Object.entries(rejected)
    .map(([reason, games]) => `${number(games)} ${reason.replaceAll("_", " ")}`)
    .join(", ");

export const rejectedGames = ({ rejected }: Pick<ConfigSnapshot["books"], "rejected">): number =>
  Object.values(rejected).reduce((sum, games) => sum + games, 0);

/** What the books lack (below zero) or have too much of; zero when they balance. */
export const booksOffBy = (books: ConfigSnapshot["books"]): number =>
  books.durable + books.in_flight + rejectedGames(books) - books.produced;

/** What training sees: the newest rows, of all that were made. */
export const windowWords = ({ rows, window }: Pick<ConfigSnapshot, "rows" | "window">): string =>
  window === undefined
    ? plural(rows, "row")
    : `the newest ${number(window.rows)} of ${plural(rows, "row")}, in ${plural(window.shards, "file")}`;

/** How steady the gains of a config are, and what that does. */
export const stabilityWords = ({
  level,
  volatility,
  weight,
  gates,
}: NonNullable<ConfigSnapshot["stability"]>): string =>
  `Gains of the last ${gates} gates: ${level} (volatility ${volatility.toFixed(2)}). The next verdict has ` +
  (weight === 1 ? "its full weight." : `the weight ${weight.toFixed(2)}, so it needs more games.`);

/** How long ago the newest games came. */
export const dataAge = ({ outlook }: Pick<ConfigSnapshot, "outlook">, at: number): string =>
  outlook?.newest_games_at == null ? "-" : duration(Math.max(0, at - outlook.newest_games_at));

/** Where the Elo goes with each round, or that too few were played to tell. */
export function eloTrendWords({ steering }: Pick<ConfigSnapshot, "steering">): string {
  const trend = steering?.trends.find(({ metric }) => metric === "elo");
  if (trend?.slope == null) return "too early";
  return `${trend.trend}, ${signed(trend.slope.estimate, 1)} a round`;
}

/** What the plan ends at, and in how long at the pace of now. */
export function targetWords({ outlook }: Pick<ConfigSnapshot, "outlook">): string {
  const target = outlook?.target ?? null;
  if (target === null) return "none";
  const what = target.what === "elo" ? `Elo ${signed(target.value)}` : plural(target.value, "round");
  if (target.reached) return `${what}: reached`;
  return target.in_seconds === null ? `${what}: too early` : `${what}: in ${duration(target.in_seconds * 1_000)}`;
}

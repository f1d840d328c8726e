/** How the loop is told in words: the same in the live view, in a pipe, in the commands and in the report. */
import type { Wait } from "../../pipeline/iteration.ts";
import type { ChampionView, ConfigSnapshot, GateView, Rated } from "../../pipeline/snapshot.ts";
import type { Stage } from "../../pipeline/stages.ts";
import { ago, duration, number, plural, printable } from "./text.ts";

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
export const championRating = ({ champion, ladder }: ConfigSnapshot): Rated | undefined =>
  champion === null ? undefined : ladder.find(({ player }) => player === champion.model);

const halfWidth = ({ low, high }: Pick<Rated, "low" | "high">): number => (high - low) / 2;

/** `+419 ±26`; what is pinned has no error. */
export const eloWords = (rated: Pick<Rated, "elo" | "low" | "high">): string => {
  const half = Math.round(halfWidth(rated));
  return half === 0 ? signed(rated.elo) : `${signed(rated.elo)} ±${half}`;
};

export const intervalWords = ({ estimate, low, high }: NonNullable<GateView["elo"]>): string =>
  `${signed(estimate)} Elo (${signed(low)} to ${signed(high)})`;

export const lastRatio = ({ llr }: Pick<GateView, "llr">): number => llr.at(-1) ?? 0;

/** `+62 Elo (+21 to +104), LLR 3.01, 240 games`. */
export const gateNumbers = (gate: GateView): string =>
  [
    ...(gate.elo === null ? [] : [intervalWords(gate.elo)]),
    `LLR ${signed(lastRatio(gate), 2)}`,
    plural(gate.games, "game"),
  ].join(", ");

const valueWords = (value: string | number): string => (typeof value === "number" ? number(value) : printable(value));

/** What it waits for, what there is and what there must be. Times of a snapshot are Unix seconds, those of waits included. */
export function waitWords({ for: what, actual, required, since }: Wait, atSeconds: number): string {
  const subject = printable(what).replaceAll("_", " ");
  const span = duration(Math.max(0, atSeconds - since) * 1_000);
  const both = typeof actual === "number" && typeof required === "number";
  const facts = both
    ? `: ${number(actual)} of ${number(required)}`
    : [
        ...(actual === null ? [] : [`: ${valueWords(actual)}`]),
        ...(required === null ? [] : [`${actual === null ? ":" : ","} must be ${valueWords(required)}`]),
      ].join("");
  return `waits for ${subject}${facts}; for ${span}`;
}

/** How long ago, from Unix seconds. */
export const agoWords = (seconds: number, atSeconds: number): string =>
  atSeconds - seconds < 1 ? "just now" : ago(seconds * 1_000, atSeconds * 1_000);

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

export const rejectedGames = ({ rejected }: Pick<ConfigSnapshot["books"], "rejected">): number =>
  Object.values(rejected).reduce((sum, games) => sum + games, 0);

/** What the books lack (below zero) or have too much of; zero when they balance. */
export const booksOffBy = (books: ConfigSnapshot["books"]): number =>
  books.durable + books.in_flight + rejectedGames(books) - books.produced;

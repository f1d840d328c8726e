import type { LoopSnapshot } from "../../pipeline/snapshot.ts";
import { booksOffBy, rejectedGames, STAGE_WORDS, shortModel } from "../cli/loop-words.ts";
import { plural } from "../cli/text.ts";
import type { ReportAbout } from "./about.ts";

/** Something that went wrong, and when; what has no moment of its own stands at the end. */
export interface Trouble {
  readonly at: number | null;
  readonly config_key: string | null;
  readonly what: string;
  /** What came of it, where that is known. */
  readonly outcome: string;
}

/** Everything that went wrong, oldest first. */
export function troublesOf({ configs }: LoopSnapshot, about: ReportAbout): Trouble[] {
  const ofConfigs = configs.flatMap((config): Trouble[] => {
    const { config_key, books } = config;
    const rejected = rejectedGames(books);
    const reasons = Object.entries(books.rejected).map(([reason, games]) => `${games} ${reason.replaceAll("_", " ")}`);
    return [
      ...config.failures.map(({ stage, code, message, at, retryable }) => ({
        at,
        config_key,
        what: `${STAGE_WORDS[stage]} failed: ${message} (${code})`,
        outcome: retryable ? "tried again" : "needs a person",
      })),
      ...config.suspects.map(({ producer, reason, since }) => ({
        at: since,
        config_key,
        what: `${producer} is suspect: ${reason}`,
        outcome: "its games are rejected",
      })),
      ...config.champions
        .filter(({ by }) => by === "rollback")
        .map(({ model, since }) => ({
          at: since,
          config_key,
          what: "the champion was worse than the one before",
          outcome: `rolled back to ${shortModel(model)}`,
        })),
      ...(rejected === 0
        ? []
        : [
            {
              at: null,
              config_key,
              what: `${plural(rejected, "game was", "games were")} rejected: ${reasons.join(", ")}`,
              outcome: "never trained on",
            },
          ]),
      ...(books.balanced
        ? []
        : [
            {
              at: null,
              config_key,
              what: `the books do not balance: off by ${plural(Math.abs(booksOffBy(books)), "game")}`,
              outcome: "needs a person",
            },
          ]),
    ];
  });
  const incidents = about.incidents.map(({ outcome, ...incident }) => ({ ...incident, outcome: outcome ?? "" }));
  const alerts = about.alerts.map(({ severity, title, status, opened_at }) => ({
    at: opened_at,
    config_key: null,
    what: `alert (${severity}): ${title}`,
    outcome: status,
  }));
  return [...ofConfigs, ...incidents, ...alerts].sort((a, b) => (a.at ?? Infinity) - (b.at ?? Infinity) || 0);
}

import type { PipelineSnapshot } from "../../pipeline/index.ts";
import { plural } from "../cli/text.ts";
import {
  booksOffBy,
  producerName,
  rejectedGames,
  rejectedReasons,
  STAGE_WORDS,
  shortModel,
} from "../pipeline/words.ts";
import type { ReportAbout } from "./about.ts";

/** Everything that went wrong, what came of it where that is known, oldest first; what has no moment of its own stands at the end. */
export function troublesOf({ configs }: PipelineSnapshot, about: ReportAbout) {
  const ofConfigs = configs.flatMap(({ config_key, books, failures, suspects, champions }) => {
    const trouble = (at: number | null, what: string, outcome: string) => ({ at, config_key, what, outcome });
    const rejected = plural(rejectedGames(books), "game was", "games were");
    const off = plural(Math.abs(booksOffBy(books)), "game");
    return [
      ...failures.map(({ stage, code, message, at, retryable }) =>
        trouble(at, `${STAGE_WORDS[stage]} failed: ${message} (${code})`, retryable ? "tried again" : "needs a person"),
      ),
      ...suspects.map((suspect) =>
        trouble(suspect.since, `${producerName(suspect)} is suspect: ${suspect.reason}`, "held back"),
      ),
      ...champions
        .filter(({ by }) => by === "rollback")
        .map(({ model, since }) =>
          trouble(since, "the champion was worse than the one before", `rolled back to ${shortModel(model)}`),
        ),
      ...(rejectedGames(books) === 0
        ? []
        : [trouble(null, `${rejected} rejected: ${rejectedReasons(books)}`, "never trained on")]),
      ...(books.balanced ? [] : [trouble(null, `the books do not balance: off by ${off}`, "needs a person")]),
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

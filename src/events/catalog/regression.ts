import { lazy } from "../../kernel/index.ts";
import { amount, field, fields, number, share, some } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** The evidence that every verdict carries. */
const verdict = lazy(() => ({
  ...fields("config_key", "elo", "win_rate?", "reason?", "recommendation?"),
  model_id: field.model_id.describe("champion that is judged"),
  baseline_elo: number("Elo rating it is compared with"),
  elo_drop: amount("Elo lost against the baseline"),
  games: field.games.describe("games behind the verdict"),
  occurrences: some("how often in a row"),
  baseline_win_rate: share("share of games won that it is compared with").optional(),
}));

/** Whether a champion got weaker, how much, and when it has passed. */
export const regression = defineEvents("regression", {
  REGRESSION_DETECTED: {
    about: "A champion got weaker; this comes with every severity.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("regression_severity"),
      ...verdict(),
    }),
  },
  REGRESSION_MINOR: {
    about: "A champion lost a little strength.",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_MODERATE: {
    about: "A champion lost some strength; more games are wanted.",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_SEVERE: {
    about: "A champion lost much strength; a rollback is considered.",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_CRITICAL: {
    about: "A champion lost so much strength that it is rolled back at once.",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_CLEARED: {
    about: "A champion is as strong as before. Paused work continues.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "elo"),
      model_id: field.model_id.describe("champion that is judged"),
      games: field.games.describe("games behind the verdict"),
      baseline_elo: number("Elo rating it is compared with").optional(),
      duration_seconds: field.duration_seconds.describe("how long the regression lasted, in seconds").optional(),
    }),
  },
});

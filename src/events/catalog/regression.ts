import {
  amount,
  configKey,
  durationSeconds,
  elo,
  games,
  modelId,
  number,
  reason,
  recommendation,
  regressionSeverity,
  share,
  some,
  winRate,
} from "../fields.ts";
import { defineEvents } from "../row.ts";

/** The evidence that every verdict carries. */
const verdict = {
  config_key: configKey,
  model_id: modelId.describe("champion that is judged"),
  elo,
  baseline_elo: number("Elo rating it is compared with"),
  elo_drop: amount("Elo lost against the baseline"),
  games: games.describe("games behind the verdict"),
  occurrences: some("how often in a row"),
  win_rate: winRate.optional(),
  baseline_win_rate: share("share of games won that it is compared with").optional(),
  reason: reason.optional(),
  recommendation: recommendation.optional(),
};

/** Whether a champion got weaker, how much, and when it has passed. */
export const regression = defineEvents("regression", {
  REGRESSION_DETECTED: {
    about: "A champion got weaker; this comes with every severity.",
    class: "durable",
    orderKey: "config_key",
    payload: { ...verdict, regression_severity: regressionSeverity },
  },
  REGRESSION_MINOR: {
    about: "A champion lost a little strength.",
    class: "durable",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_MODERATE: {
    about: "A champion lost some strength; more games are wanted.",
    class: "durable",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_SEVERE: {
    about: "A champion lost much strength; a rollback is considered.",
    class: "durable",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_CRITICAL: {
    about: "A champion lost so much strength that it is rolled back at once.",
    class: "durable",
    orderKey: "config_key",
    payload: verdict,
  },
  REGRESSION_CLEARED: {
    about: "A champion is as strong again as it was; what was paused goes on.",
    class: "durable",
    orderKey: "config_key",
    payload: {
      config_key: configKey,
      model_id: modelId.describe("champion that is judged"),
      elo,
      games: games.describe("games behind the verdict"),
      baseline_elo: number("Elo rating it is compared with").optional(),
      duration_seconds: durationSeconds.describe("how long the regression lasted, in seconds").optional(),
    },
  },
});

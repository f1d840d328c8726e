import { lazy } from "../../kernel/index.ts";
import { count, field, fields, flag, number, some, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

const gamesPlanned = lazy(() => some("games planned"));
const queue = lazy(() => ({
  ...fields("queue_depth"),
  scope: field.scope.describe("evaluation queue"),
  threshold: field.threshold.describe("depth that holds training"),
  release_threshold: number("depth that lets it go on"),
}));

/** How strong a model is: gauntlets and ratings. */
export const evaluation = defineEvents("evaluation", {
  EVALUATION_STARTED: {
    about: "A model began to play against its champion and the baselines.",
    orderKey: "config_key",
    dedup: ["job_id"],
    payload: () => ({
      ...fields("config_key", "job_id", "model_id", "opponents"),
      games_planned: gamesPlanned(),
    }),
  },
  EVALUATION_PROGRESS: {
    about: "An evaluation tells how far it is.",
    class: "volatile",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "model_id", "win_rate?"),
      games: field.games.describe("games played"),
      games_planned: gamesPlanned(),
      wins: count("games won").optional(),
      draws: count("games drawn").optional(),
      losses: count("games lost").optional(),
    }),
  },
  EVALUATION_COMPLETED: {
    about: "An evaluation has a verdict, with the games that support it.",
    orderKey: "config_key",
    dedup: ["job_id"],
    legacy: ["EVALUATION_COMPLETE", "SHADOW_TOURNAMENT_COMPLETE"],
    stage: "evaluation_complete",
    payload: () => ({
      ...fields(
        "config_key",
        "job_id",
        "model_id",
        "win_rate",
        "elo",
        "win_rates",
        "elo_low?",
        "elo_high?",
        "duration_seconds?",
      ),
      games: field.games.describe("games played"),
      passed: flag("whether the model met the bar"),
      harness: word("kind of player that was used").optional(),
    }),
  },
  EVALUATION_FAILED: {
    about: "An evaluation ended without a verdict.",
    orderKey: "config_key",
    dedup: ["job_id"],
    payload: () => fields("config_key", "job_id", "model_id", "error", "retryable", "error_code?"),
  },
  EVALUATION_BACKPRESSURE: {
    about: "Too many models wait for evaluation; training is held back.",
    orderKey: "scope",
    payload: queue,
  },
  EVALUATION_BACKPRESSURE_RELEASED: {
    about: "The evaluation queue has drained; training goes on.",
    orderKey: "scope",
    payload: queue,
  },
  MODEL_EVALUATION_BLOCKED: {
    about: "A model cannot be evaluated yet, because it is on too few nodes.",
    orderKey: "config_key",
    dedup: ["config_key", "model_id"],
    payload: () => ({
      ...fields("config_key", "model_id", "reason?"),
      holding_nodes: count("nodes that have the model"),
      required_nodes: count("nodes that must have it"),
    }),
  },
  ELO_UPDATED: {
    about: "A model has a new rating, computed from the match ledger.",
    orderKey: "config_key",
    stage: "elo_calibration_complete",
    payload: () => ({
      ...fields("config_key", "model_id", "elo", "previous_elo?", "elo_low?", "elo_high?"),
      games: field.games.describe("games behind the rating"),
    }),
  },
  ELO_SIGNIFICANT_CHANGE: {
    about: "The rating of a config changed so much that its share of the work may change.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "model_id", "elo", "previous_elo", "elo_change", "elo_low?", "elo_high?"),
      threshold: field.threshold.describe("change that counts"),
    }),
  },
  ELO_VELOCITY_CHANGED: {
    about: "A config gains strength faster or more slowly than before.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "elo_per_day", "trend"),
      previous_elo_per_day: number("Elo gained per day before"),
    }),
  },
});

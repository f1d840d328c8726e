import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { amount, count, field, fields, flag, list, share } from "../fields.ts";
import { defineEvents } from "../row.ts";

const bar = lazy(() => field.threshold.describe("quality that is needed"));
const scored = lazy(() => field.games.describe("games that were scored"));

/** How good the data of a config is, and whether its games follow the rules. */
export const quality = defineEvents("quality", {
  DATA_QUALITY_ALERT: {
    about: "Something is wrong with the data of a config.",
    orderKey: "config_key",
    dedup: "content",
    payload: () => ({
      ...fields("config_key", "severity", "message"),
      failed_games: count("games that are broken").optional(),
      artifact_hash: field.artifact_hash.describe("game segment that holds them").optional(),
      error_code: field.error_code.describe("which trouble it is, where one of severity info can end it").optional(),
    }),
  },
  QUALITY_CHECK_REQUESTED: {
    about: "Somebody asks to score the data of a config now.",
    orderKey: "config_key",
    dedup: ["config_key"],
    payload: () => fields("config_key", "reason", "urgency?"),
  },
  QUALITY_CHECK_FAILED: {
    about: "The data of a config could not be scored, or its score is too low.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason", "error?", "quality_score?"),
      threshold: bar().optional(),
    }),
  },
  QUALITY_SCORE_UPDATED: {
    about: "The data of a config has a new quality score.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "quality_score", "quality_band", "previous_quality_score?", "trend?"),
      games: scored(),
      segments: list(
        "files of the segments that were scored, the best first",
        z.object({ artifact_hash: field.artifact_hash, quality_score: field.quality_score }),
      ).optional(),
    }),
  },
  QUALITY_DISTRIBUTION_CHANGED: {
    about: "The mix of good and poor games of a config shifted.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key"),
      quality_score: field.quality_score.describe("mean quality of the data (0 to 1)"),
      high_quality_share: share("share of good games"),
      low_quality_share: share("share of poor games"),
      games: scored(),
    }),
  },
  HIGH_QUALITY_DATA_AVAILABLE: {
    about: "The data of a config is good enough to train on.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "quality_score", "trend?"),
      games: scored(),
      threshold: bar().optional(),
    }),
  },
  QUALITY_DEGRADED: {
    about: "The data of a config fell below its quality floor.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "quality_score", "trend", "previous_quality_score?", "quality_band?"),
      threshold: bar(),
    }),
  },
  LOW_QUALITY_DATA_WARNING: {
    about: "The data of a config is poor, and an operator should know.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "quality_score", "recommendation?"),
      threshold: bar(),
      games: scored(),
      low_quality_share: share("share of poor games").optional(),
    }),
  },
  QUALITY_FEEDBACK_ADJUSTED: {
    about: "The budget of a config was adjusted to the quality of its data.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "quality_score", "reason?"),
      budget_multiplier: amount("factor on the budget"),
      previous_budget_multiplier: amount("factor on the budget before").optional(),
    }),
  },
  QUALITY_PENALTY_APPLIED: {
    about: "A config plays more slowly, as a penalty for poor data.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "rate_multiplier", "reason", "quality_score?"),
      penalty: share("penalty"),
    }),
  },
  PARITY_VALIDATION_STARTED: {
    about: "Games of a config are being replayed to prove that they follow the rules.",
    orderKey: "config_key",
    payload: () => ({ ...fields("config_key", "job_id"), games: field.games.describe("games to check") }),
  },
  PARITY_VALIDATION_COMPLETED: {
    about: "The check of games against the rules has ended, with its result.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "duration_seconds?"),
      passed: flag("whether all games may be used"),
      games: field.games.describe("games that were checked"),
      failed_games: count("games that break the rules"),
      self_checked_games: count("games that their own producer checked, because nobody else could").optional(),
      artifact_hashes: field.artifact_hashes.describe("game segments that were checked").optional(),
    }),
  },
  PARITY_FAILURE_RATE_CHANGED: {
    about: "The share of games that break the rules changed.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key"),
      failure_rate: share("share of games that break the rules"),
      previous_failure_rate: share("share of games that broke the rules before"),
      games: field.games.describe("games that were checked"),
    }),
  },
});

import { amount, count, field, fields, number, share, some } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Who plays what, how much, and what came of it. */
export const selfplay = defineEvents("selfplay", {
  SELFPLAY_COMPLETE: {
    about: "A batch of selfplay games is done and its games are proven.",
    orderKey: "config_key",
    dedup: ["task_id"],
    legacy: ["SELFPLAY_COMPLETION", "SELFPLAY_BATCH_COMPLETE", "CANONICAL_SELFPLAY_COMPLETE", "GPU_SELFPLAY_COMPLETE"],
    stage: "selfplay_complete",
    payload: () => ({
      ...fields("config_key", "task_id", "duration_seconds", "samples?"),
      node_id: field.node_id.describe("node that played"),
      games: field.games.describe("games played"),
      artifact_hash: field.artifact_hash.describe("game segment that holds them"),
      model_id: field.model_id.describe("model that played").optional(),
    }),
  },
  SELFPLAY_TARGET_UPDATED: {
    about: "The target number of games of a config changed.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason", "urgency?"),
      target_games: count("games wanted"),
      previous_target_games: count("games wanted before").optional(),
      elo_gap: number("Elo still missing to the goal").optional(),
    }),
  },
  SELFPLAY_RATE_CHANGED: {
    about: "A config should be played noticeably faster or more slowly.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "rate_multiplier", "reason"),
      previous_rate_multiplier: amount("factor on the rate of selfplay before"),
    }),
  },
  SELFPLAY_ALLOCATION_UPDATED: {
    about: "The share of selfplay that a config gets changed.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason"),
      allocated_games: count("games given to the config"),
      allocated_share: share("share of all games given to the config"),
      node_ids: field.node_ids.describe("nodes that play it").optional(),
    }),
  },
  P2P_SELFPLAY_SCALED: {
    about: "The number of selfplay jobs of a config in the cluster was raised or lowered.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason?"),
      jobs: field.jobs.describe("jobs wanted"),
      previous_jobs: count("jobs wanted before"),
    }),
  },
  BATCH_SCHEDULED: {
    about: "A set of jobs was chosen to be handed out.",
    orderKey: "batch_id",
    dedup: ["batch_id"],
    payload: () => ({
      ...fields("batch_id", "config_key", "work_type", "reason?"),
      jobs: field.jobs.describe("jobs in the batch"),
      node_ids: field.node_ids.describe("nodes that should run them"),
      games_per_job: some("games of each job").optional(),
    }),
  },
  BATCH_DISPATCHED: {
    about: "The jobs of a batch were handed to their nodes.",
    orderKey: "batch_id",
    dedup: ["batch_id"],
    payload: () => ({
      ...fields("batch_id", "config_key", "work_type"),
      jobs: field.jobs.describe("jobs handed out"),
      failed_jobs: count("jobs that no node took"),
      node_ids: field.node_ids.describe("nodes that run them").optional(),
    }),
  },
});
